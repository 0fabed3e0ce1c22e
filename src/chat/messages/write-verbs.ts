import { invalid } from '../../base/errors.ts';
import { only } from '../../base/check-value.ts';
import { kindOf } from '../../base/text.ts';
import type { NewEvent } from '../events/event.ts';
import type { ChatHandle } from '../handle/chat-writer.ts';
import type { Chat } from '../handle/chats.ts';
import { partOf } from '../projections/message-part.ts';
import { assertCanBegin, assertExpected, toPayload } from './check-message.ts';
import { loadMessage } from './find-messages.ts';

type WriteVerbs = Pick<Chat, 'append' | 'add'>;

export function writeVerbs(handle: ChatHandle): WriteVerbs {
  const { home, writer } = handle;

  return {
    async append(events, options = {}) {
      const list = Array.isArray(events) ? (events as readonly NewEvent[]) : [events as NewEvent];
      if (list.length === 0) throw invalid('events', 'is empty');
      const { expectedSeq } = options;
      if (expectedSeq === undefined) return writer.append(list);
      return writer.decide((now) => {
        assertExpected(now, expectedSeq);
        return list;
      });
    },

    async add(message, options = {}) {
      const payload = toPayload(message, home.clock());
      const { content } = message;
      if (typeof content !== 'string')
        throw invalid('content', `must be a string, got ${kindOf(content)}`);
      const event = { type: 'message_added', payload: { ...payload, content } };
      const added = await writer.decide(async (now) => {
        assertExpected(now, options.expectedSeq);
        await assertCanBegin(now, payload, message);
        return [event];
      });
      const part = partOf(only(added));
      if (part === undefined) throw new TypeError('a message was added that is none');
      return loadMessage(home.engine, part);
    },
  };
}
