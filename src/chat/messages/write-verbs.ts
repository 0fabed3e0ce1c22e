import { DeltaWriter } from '../../base/delta-writer.ts';
import { QuipuError, invalid, tooLarge } from '../../base/errors.ts';
import { assertWellFormed, decodeUtf8, encodeUtf8, kindOf } from '../../base/text.ts';
import type { ChatEvent, JsonObject, NewEvent } from '../events/event.ts';
import { PAYLOAD_BYTES_MAX, STREAM_GATHER_MS } from '../events/limits.ts';
import type { ChatHandle } from '../handle/chat-writer.ts';
import type { AppendOptions, Chat, MessageStream, NewMessage } from '../handle/chats.ts';
import { partOf } from '../projections/message-part.ts';
import { assertCanBegin, assertExpected, ofCompletion, only, toPayload } from './check-message.ts';
import { loadMessage } from './find-messages.ts';

type WriteVerbs = Pick<Chat, 'append' | 'add' | 'stream'>;

export function writeVerbs(handle: ChatHandle): WriteVerbs {
  const { home, view, writer, assertOpen } = handle;

  return {
    async append(events, options: AppendOptions = {}): Promise<ChatEvent[]> {
      assertOpen('chat.append');
      const list = Array.isArray(events) ? (events as readonly NewEvent[]) : [events as NewEvent];
      if (list.length === 0) throw invalid('events', 'is empty');
      const { expectedSeq } = options;
      if (expectedSeq === undefined) return writer.append(list);
      return writer.decide((now) => {
        assertExpected(now, expectedSeq);
        return list;
      });
    },

    async add(message: NewMessage, options: AppendOptions = {}) {
      assertOpen('chat.add');
      const payload = toPayload(message, home.clock());
      const { content } = message;
      if (typeof content !== 'string')
        throw invalid('content', `is a string, got ${kindOf(content)}`);
      const event = { type: 'message_added', payload: { ...payload, content } };
      const [added] = await writer.decide(async (now) => {
        assertExpected(now, options.expectedSeq);
        await assertCanBegin(now, payload, message);
        return [event];
      });
      const part = added && partOf(added);
      if (part === undefined) throw new TypeError('nothing was appended');
      return loadMessage(home.engine, part);
    },

    async stream(message) {
      assertOpen('chat.stream');
      const payload = toPayload(message, home.clock());
      await view.run((now) => assertCanBegin(now, payload, message));
      return openStream(handle, payload);
    },
  };
}

/** A stream begins at its first delta. Acknowledged text is in the chat, whether the message is completed or not. */
function openStream(
  { home, writer, assertOpen }: ChatHandle,
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
  const stopWaiting = home.lifetime.onClose(() => deltas.flush());

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
  return tooLarge('text', PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX + 1, message);
}
