import { invalid } from '../../base/errors.ts';
import { only } from '../../base/check-value.ts';
import { isFields } from '../../base/fields.ts';
import { checkLine, kindOf } from '../../base/text.ts';
import type { ChatEvent, JsonObject, NewEvent } from '../events/event.ts';
import { ID_CHARS_MAX, NAME_CHARS_MAX } from '../events/limits.ts';
import { checkId, newId } from '../events/names.ts';
import type { ChatHandle } from '../handle/chat-writer.ts';
import type { Chat } from '../handle/chats.ts';
import { partOf } from '../projections/message-part.ts';
import { assertCanBegin, assertExpected, mustFind, toPayload } from './check-message.ts';
import { loadMessage } from './find-messages.ts';

type WriteVerbs = Pick<Chat, 'append' | 'add' | 'callTool' | 'returnTool'>;

export function writeVerbs({ home, writer }: ChatHandle): WriteVerbs {
  async function note(type: string, payload: JsonObject, message?: string): Promise<ChatEvent> {
    const message_id = message === undefined ? undefined : checkId(message, 'message');
    const events = await writer.decide(async (view) => {
      if (message_id === undefined) return [{ type, payload }];
      await mustFind(view, message_id);
      return [{ type, payload: { ...payload, message_id } }];
    });
    return only(events);
  }

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

    async callTool(call) {
      const { name, message, id = newId(home.clock()) } = call;
      const call_id = checkCall(id);
      if (checkLine(name, 'name', NAME_CHARS_MAX) === '') throw invalid('name', 'is empty');
      const { arguments: given } = call;
      const payload = { call_id, name, ...(given !== undefined && { arguments: given }) };
      await note('tool_called', payload, message);
      return call_id;
    },

    async returnTool(call, returned) {
      const call_id = checkCall(call);
      if (!isFields(returned) || 'result' in returned === 'error' in returned) {
        throw invalid('result', 'must be an object with a "result", or with an "error"');
      }
      const { message, ...said } = returned;
      if ('error' in said && typeof said.error !== 'string') {
        throw invalid('error', `must be a string, got ${kindOf(said.error)}`);
      }
      return note('tool_returned', { call_id, ...said }, message);
    },
  };
}

function checkCall(id: unknown): string {
  const call = checkLine(id, 'call', ID_CHARS_MAX);
  if (call === '') throw invalid('call', 'is empty');
  return call;
}
