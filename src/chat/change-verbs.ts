import { checkLine, kindOf } from '../base/check-text.ts';
import { invalid } from '../base/errors.ts';
import type { ChatHandle } from './chat-handle.ts';
import type { ChatView } from './chat-view.ts';
import { mustFind, only } from './messages/check-message.ts';
import type { Chat, ChatInfo } from './chats.ts';
import type { ChatEvent } from './events/event.ts';
import { toInfo } from './info.ts';
import { BRANCHES_MAX, TITLE_CHARS_MAX } from './limits.ts';
import { formatMeta } from './meta.ts';
import { checkId, metaDoc, newId } from './names.ts';
import { MAIN_BRANCH } from './events/payloads.ts';

type ChangeVerbs = Pick<Chat, 'edit' | 'fork' | 'update'>;

export function changeVerbs({ world, view, writer, assertOpen }: ChatHandle): ChangeVerbs {
  return {
    async edit(message: string, content: string): Promise<ChatEvent> {
      assertOpen('chat.edit');
      const message_id = checkId(message, 'message');
      if (typeof content !== 'string')
        throw invalid('content', `is a string, got ${kindOf(content)}`);
      const [event] = await writer.decide(async (now) => {
        const part = await mustFind(now, message_id);
        if (part.redacted !== undefined) {
          throw invalid('message', `${message_id} is redacted, and what it says stays hidden`);
        }
        return [{ type: 'message_edited', payload: { message_id, content } }];
      });
      return only(event);
    },

    async fork(message: string, options: { readonly branch?: string } = {}): Promise<string> {
      assertOpen('chat.fork');
      const parent_message_id = checkId(message, 'message');
      const { branch = newId(world.clock()) } = options;
      const new_thread_id = checkId(branch, 'branch');
      await writer.decide(async (now) => {
        await mustFind(now, parent_message_id);
        assertNewBranch(now, new_thread_id);
        return [{ type: 'thread_forked', payload: { new_thread_id, parent_message_id } }];
      });
      return new_thread_id;
    },

    async update({ title, pinned }): Promise<ChatInfo> {
      assertOpen('chat.update');
      if (title !== undefined) checkLine(title, 'title', TITLE_CHARS_MAX);
      if (pinned !== undefined && typeof pinned !== 'boolean') {
        throw invalid('pinned', `is a boolean, got ${kindOf(pinned)}`);
      }
      return view.run(async ({ stored, events, bytes }) => {
        const meta = {
          ...stored.meta,
          ...(title !== undefined && { title }),
          ...(pinned !== undefined && { pinned }),
          updated_at: new Date(world.clock()).toISOString(),
        };
        const name = metaDoc(view.id);
        const content = formatMeta(meta);
        const expectedVersion = stored.version;
        await world.engine.commit({ docs: [{ name, content, expectedVersion, publish: true }] });
        return toInfo(meta, { events, bytes });
      });
    },
  };
}

function assertNewBranch({ overview: { branches } }: ChatView, id: string): void {
  if (id === MAIN_BRANCH || branches.some((branch) => branch.id === id)) {
    throw invalid('branch', `${id} is there already`);
  }
  if (branches.length < BRANCHES_MAX) return;
  throw invalid('branch', `would be one more than the ${BRANCHES_MAX} a chat may have`);
}
