import { assertWellFormed, kindOf } from '../../base/check-text.ts';
import { DeltaWriter } from '../../base/delta-writer.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import { decodeUtf8, encodeUtf8 } from '../../base/utf8.ts';
import type { ChatHandle } from '../chat-handle.ts';
import type { MessageStream, NewMessage } from '../chats.ts';
import type { ChatEvent, JsonObject } from '../events/event.ts';
import { PAYLOAD_BYTES_MAX, STREAM_GATHER_MS } from '../limits.ts';
import { ofCompletion, only } from './check-message.ts';

/** A stream begins at its first delta. Acknowledged text is in the chat, whether the message is completed or not. */
export function openStream(
  { world, writer, assertOpen }: ChatHandle,
  payload: JsonObject & { readonly message_id: string },
): MessageStream {
  const { message_id } = payload;
  const pieces: string[] = [];
  let half = '';
  let isDone = false;
  const deltas = new DeltaWriter(
    async (offset, bytes) => {
      // The first delta names the role and the branch; the others need not.
      const begun = offset === 0 ? payload : { message_id };
      const delta = { ...begun, delta: decodeUtf8(bytes) };
      await writer.append([{ type: 'message_stream_delta', payload: delta }]);
    },
    0,
    STREAM_GATHER_MS,
  );
  const stopWaiting = world.lifetime.onClose(() => deltas.flush());

  function assertStreaming(what: string): void {
    assertOpen(what);
    if (isDone) throw new QuipuError('CLOSED', `${what}: the message is complete`, { what });
  }

  return {
    id: message_id,

    async write(text: string): Promise<void> {
      assertStreaming('stream.write');
      if (typeof text !== 'string') throw invalid('text', `is a string, got ${kindOf(text)}`);
      // A character may come in two halves; the first one waits.
      const whole = half + text;
      const isCut = /[\uD800-\uDBFF]$/.test(whole);
      const ready = isCut ? whole.slice(0, -1) : whole;
      assertWellFormed(ready, 'text');
      half = isCut ? whole.slice(-1) : '';
      if (ready === '') return;
      if (deltas.length + Buffer.byteLength(ready) > PAYLOAD_BYTES_MAX) throw tooLong();
      pieces.push(ready);
      await deltas.push(encodeUtf8(ready));
    },

    async complete(
      content?: string,
      more: Pick<NewMessage, 'model' | 'usage'> = {},
    ): Promise<ChatEvent> {
      assertStreaming('stream.complete');
      if (content === undefined && half !== '') throw invalid('text', 'ends in half a character');
      const text = content ?? pieces.join('');
      if (typeof text !== 'string') throw invalid('content', `is a string, got ${kindOf(text)}`);
      const said = { ...payload, content: text, ...ofCompletion(more) };
      await deltas.flush();
      const [event] = await writer.append([{ type: 'message_completed', payload: said }]);
      isDone = true;
      stopWaiting();
      return only(event);
    },
  };
}

function tooLong(): QuipuError<'TOO_LARGE'> {
  const message = `a message takes at most ${PAYLOAD_BYTES_MAX} bytes`;
  return new QuipuError('TOO_LARGE', message, {
    what: 'text',
    limit: PAYLOAD_BYTES_MAX,
    size: PAYLOAD_BYTES_MAX + 1,
  });
}
