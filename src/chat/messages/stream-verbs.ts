import { DeltaWriter } from '../../base/delta-writer.ts';
import { only } from '../../base/check-value.ts';
import { QuipuError, invalid, tooLarge } from '../../base/errors.ts';
import { assertWellFormed, checkString, decodeUtf8, encodeUtf8 } from '../../base/text.ts';
import type { JsonObject, NewEvent } from '../events/event.ts';
import { PAYLOAD_BYTES_MAX, STREAM_GATHER_MS } from '../events/limits.ts';
import { checkId } from '../events/names.ts';
import type { ChatView } from '../handle/chat-view.ts';
import { assertWritable, type ChatHandle } from '../handle/chat-writer.ts';
import type { Chat, MessageStream } from '../handle/chats.ts';
import type { MessagePart } from '../projections/message-part.ts';
import {
  assertCanBegin,
  mustFind,
  ofCompletion,
  toPayload,
  findPart,
  loadMessage,
} from './find-messages.ts';

// A message that comes in pieces.
// Invariants
// - A stream begins at its first delta. Durable text is in the chat, whether the message is completed or not.
// - Each commit of a stream names the number of deltas that it builds on. So two writers of one message never mix their
//   texts: the second one fails with HEAD_MOVED, and may resume.

type StreamVerbs = Pick<Chat, 'stream' | 'resume' | 'complete'>;

export function streamVerbs(handle: ChatHandle): StreamVerbs {
  const { home, view, writer } = handle;
  return {
    async stream(message) {
      const payload = toPayload(message, home.clock());
      await view.run((now) => assertCanBegin(now, payload, message));
      return openStream(handle, { payload, deltas: 0, text: '' });
    },

    async resume(message) {
      const id = checkId(message, 'message');
      const part = await view.run(async (now) => {
        assertWritable(now);
        return mustStream(now, id);
      });
      const { content, missing } = await loadMessage(home.engine, part);
      if (missing === true) throw invalid('message', `${id} has lost a part of its text`);
      return openStream(handle, { payload: payloadOf(part), deltas: part.deltas, text: content });
    },

    async complete(message, content, more = {}) {
      const id = checkId(message, 'message');
      const completion = ofCompletion(more);
      const events = await writer.decide(async (now) => {
        const part = await mustStream(now, id);
        const said = content ?? (await loadMessage(home.engine, part)).content;
        return [completed(payloadOf(part), said, completion)];
      });
      return only(events);
    },
  };
}

function completed(payload: JsonObject, given: unknown, completion: JsonObject): NewEvent {
  const content = checkString(given, 'content');
  return { type: 'message_completed', payload: { ...payload, content, ...completion } };
}

function payloadOf({ id, role, thread }: MessagePart): MessagePayload {
  return { message_id: id, role, ...(thread !== '' && { thread_id: thread }) };
}

type MessagePayload = JsonObject & { readonly message_id: string };

/** Throws INVALID for a message that is complete. Call this within `view.run`. */
async function mustStream(view: ChatView, id: string): Promise<MessagePart> {
  const part = await mustFind(view, id);
  if (part.redacted !== undefined) throw invalid('message', `${id} is redacted`);
  if (part.deltas > 0 && part.completed === undefined) return part;
  throw invalid('message', `${id} is complete; use edit to change its text`);
}

/** Throws when another writer has completed the message, or written to it. Call this within `view.run`. */
async function assertUntouched(view: ChatView, id: string, deltas: number): Promise<void> {
  const part = await findPart(view, id);
  if (part?.completed !== undefined) {
    const what = `message ${id}`;
    throw new QuipuError('CLOSED', `${what} was completed by another writer`, { what });
  }
  if (deltas === 0 ? part === undefined : part?.deltas === deltas) return;
  const message = `another writer adds to message ${id}; read it, and resume it if that writer is gone`;
  const data = { context: view.id, expected: String(deltas), head: String(part?.deltas ?? 0) };
  throw new QuipuError('HEAD_MOVED', message, data);
}

/** `start` has the deltas and the text that the message has already. */
function openStream(
  { home, writer }: ChatHandle,
  start: { readonly payload: MessagePayload; readonly deltas: number; readonly text: string },
): MessageStream {
  const { payload } = start;
  const { message_id } = payload;
  const pieces: string[] = [start.text];
  let { deltas } = start;
  let half = '';
  let isDone = false;
  const writes = new DeltaWriter(
    async (_, bytes) => {
      // The first delta names the role and the branch; the others need not.
      const begun = deltas === 0 ? payload : { message_id };
      const delta = { ...begun, delta: decodeUtf8(bytes) };
      await writer.decide(async (now) => {
        await assertUntouched(now, message_id, deltas);
        return [{ type: 'message_stream_delta', payload: delta }];
      });
      deltas += 1;
    },
    Buffer.byteLength(start.text),
    STREAM_GATHER_MS,
  );
  const stopWaiting = home.lifetime.onClose(() => writes.flush());

  function assertStreaming(what: string): void {
    home.lifetime.assertOpen(what);
    if (isDone) throw new QuipuError('CLOSED', `${what}: the message is complete`, { what });
  }

  return {
    id: message_id,
    text: start.text,

    async write(text) {
      assertStreaming('stream.write');
      checkString(text, 'text');
      // A character may come in two halves; the first one waits.
      const whole = half + text;
      const isCut = /[\uD800-\uDBFF]$/.test(whole);
      const ready = isCut ? whole.slice(0, -1) : whole;
      assertWellFormed(ready, 'text');
      half = isCut ? whole.slice(-1) : '';
      if (ready === '') return;
      const size = writes.length + Buffer.byteLength(ready);
      if (size > PAYLOAD_BYTES_MAX) {
        const message = `a message takes at most ${PAYLOAD_BYTES_MAX} bytes`;
        throw tooLarge('text', PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX + 1, message);
      }
      pieces.push(ready);
      await writes.push(encodeUtf8(ready));
    },

    async flush() {
      assertStreaming('stream.flush');
      await writes.flush();
    },

    async complete(content, more = {}) {
      assertStreaming('stream.complete');
      if (content === undefined && half !== '') throw invalid('text', 'ends in half a character');
      const end = completed(payload, content ?? pieces.join(''), ofCompletion(more));
      await writes.flush();
      const events = await writer.decide(async (now) => {
        await assertUntouched(now, message_id, deltas);
        return [end];
      });
      isDone = true;
      stopWaiting();
      return only(events);
    },
  };
}
