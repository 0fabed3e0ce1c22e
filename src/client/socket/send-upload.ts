import type { Call } from '../../wire/call.ts';
import { encodeCall } from '../../wire/call.ts';
import { toReqId } from '../../wire/frame.ts';
import { MessageType } from '../../wire/message-type.ts';
import type { Connection } from './connection.ts';
import { toMessage } from './outgoing-message.ts';
import type { OutgoingMessage } from './outgoing-message.ts';

const PIECE_BYTES = 1_048_576;
/** Pieces in flight at a time: the replies set the pace. */
const PIECES_AHEAD = 4;

/** Sends the call, the body in pieces, and the end; returns the method's answer. */
export async function sendUpload(
  connection: Connection,
  call: Call,
  body: AsyncIterable<Uint8Array>,
): Promise<unknown> {
  const begun = connection.request({ type: MessageType.CALL, parts: encodeCall(call) });
  const upload = toReqId(BigInt(begun.id));
  await begun.reply;
  const replies: Promise<Buffer>[] = [];
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      const piece = chunk.subarray(at, at + PIECE_BYTES);
      replies.push(send(connection, toMessage('upload.piece', [upload, piece])));
      if (replies.length > PIECES_AHEAD) await replies.shift();
    }
  }
  await Promise.all(replies);
  const last = toMessage('upload.end', [upload]);
  return last.read(await send(connection, last));
}

function send(connection: Connection, message: OutgoingMessage): Promise<Buffer> {
  const { reply } = connection.request(message);
  // The reply is awaited later, or never if another piece has failed.
  reply.catch(() => undefined);
  return reply;
}
