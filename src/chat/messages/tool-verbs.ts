import { invalid } from '../../base/errors.ts';
import { only } from '../../base/check-value.ts';
import { checkLine, kindOf } from '../../base/text.ts';
import { isObject, type ChatEvent, type JsonObject } from '../events/event.ts';
import { ID_CHARS_MAX, NAME_CHARS_MAX } from '../events/limits.ts';
import { checkId, newId } from '../events/names.ts';
import type { ChatHandle } from '../handle/chat-writer.ts';
import type { Chat } from '../handle/chats.ts';
import { mustFind } from './check-message.ts';

type ToolVerbs = Pick<Chat, 'callTool' | 'returnTool'>;

/** Calls of tools are events beside the messages. A model gives their ids, so these may have any form. */
export function toolVerbs({ home, writer }: ChatHandle): ToolVerbs {
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
      if (!isObject(returned) || 'result' in returned === 'error' in returned) {
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
