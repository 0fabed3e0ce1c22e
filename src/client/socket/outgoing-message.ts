import type { Batch } from '../../engine/batch.ts';
import { appendTurnFlags, encodeAppendTurn } from '../../wire/append-turn.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import { decodeCallReply, encodeCall } from '../../wire/call.ts';
import { fromCall, toCall } from '../../wire/call-values.ts';
import { MessageType } from '../../wire/message-type.ts';
import { decodeRowAck } from '../../wire/row-ack.ts';
import { toAppend, toCommitted } from './append-message.ts';

/** A request as it travels, and how its reply is read. */
export interface OutgoingMessage {
  readonly type: number;
  readonly flags: number;
  readonly parts: Parts;
  readonly bytes: number;
  /** Nobody will write to the parts any more, so they need not be copied to be sent. */
  readonly kept: boolean;
  read(reply: Buffer): unknown;
}

/** A call as the message that says it in the fewest words. */
export function toMessage(method: string, args: readonly unknown[]): OutgoingMessage {
  const append = method === 'engine.commit' ? toAppend(args[0] as Batch) : undefined;
  if (append !== undefined) {
    return message(MessageType.APPEND_TURN, encodeAppendTurn(append), {
      flags: appendTurnFlags(append),
      kept: true,
      read: (reply) => toCommitted(decodeRowAck(reply)),
    });
  }
  return message(MessageType.CALL, encodeCall({ method, body: toCall(args) }), {
    flags: 0,
    kept: false,
    read: (reply) => fromCall(decodeCallReply(reply)),
  });
}

function message(
  type: number,
  parts: Parts,
  rest: Pick<OutgoingMessage, 'flags' | 'kept' | 'read'>,
): OutgoingMessage {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  return { type, parts, bytes, ...rest };
}
