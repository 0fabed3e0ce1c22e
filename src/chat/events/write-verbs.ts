import { kindOf } from '../../base/check-text.ts';
import { invalid } from '../../base/errors.ts';
import type { ChatHandle } from '../chat-handle.ts';
import { assertCanBegin, assertExpected, toPayload } from '../messages/check-message.ts';
import type { AppendOptions, Chat, NewMessage } from '../chats.ts';
import type { ChatEvent, NewEvent } from './event.ts';
import { loadMessage } from '../messages/load-message.ts';
import { partOf } from '../projections/message-part.ts';
import { openStream } from '../messages/message-stream.ts';

type WriteVerbs = Pick<Chat, 'append' | 'add' | 'stream'>;

export function writeVerbs(handle: ChatHandle): WriteVerbs {
  const { world, view, writer, assertOpen } = handle;

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
      const payload = toPayload(message, world.clock());
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
      return loadMessage(world.engine, part);
    },

    async stream(message) {
      assertOpen('chat.stream');
      const payload = toPayload(message, world.clock());
      await view.run((now) => assertCanBegin(now, payload, message));
      return openStream(handle, payload);
    },
  };
}
