import { invalid } from '../../base/errors.ts';
import type { ChatHandle } from '../chat-handle.ts';
import type { ChatView } from '../chat-view.ts';
import { checkBranch, checkCount } from './check-query.ts';
import type { Chat, MessagePage, MessageQuery } from '../chats.ts';
import { findPart, visibleIn, walkBack } from './find-messages.ts';
import { PAGE_BYTES_MAX, PAGE_MESSAGES_DEFAULT, PAGE_MESSAGES_MAX } from '../limits.ts';
import { loadMessage } from './load-message.ts';
import { checkId } from '../names.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import type { MessagePart } from '../projections/message-part.ts';
import type { ChatMessage } from '../projections/message.ts';
import { toDamaged } from '../projections/message.ts';
import { searchMessages } from './search-messages.ts';

type MessageVerbs = Pick<Chat, 'message' | 'messages' | 'search'>;

export function messageVerbs(handle: ChatHandle): MessageVerbs {
  const { view, world, assertOpen } = handle;
  const { engine } = world;
  const load = (part: MessagePart): Promise<ChatMessage> => loadMessage(engine, part);

  return {
    async message(id: string): Promise<ChatMessage | undefined> {
      assertOpen('chat.message');
      const part = await view.run(() => findPart(view, checkId(id, 'message')));
      return part && load(part);
    },

    async messages(query: MessageQuery = {}): Promise<MessagePage> {
      assertOpen('chat.messages');
      const { branch = MAIN_BRANCH, before = Infinity, limit = PAGE_MESSAGES_DEFAULT } = query;
      checkCount(limit, 'limit', PAGE_MESSAGES_MAX);
      if (before !== Infinity) checkCount(before, 'before', Number.MAX_SAFE_INTEGER);
      return view.run(async () => {
        const isVisible = await visibleIn(view, checkBranch(branch));
        const messages: ChatMessage[] = [];
        let bytes = 0;
        for await (const part of walkBack(view, { isVisible, before })) {
          if (messages.length === limit || bytes > PAGE_BYTES_MAX) {
            const oldest = messages.at(-1)?.seq ?? before;
            const rest = oldest === Infinity ? {} : { before: oldest };
            return { ...toPage(view, messages, { after: oldest, before }), ...rest };
          }
          const message = await load(part);
          bytes += message.content.length;
          messages.push(message);
        }
        return toPage(view, messages, { after: 0, before });
      });
    },

    async search(text, options = {}): Promise<MessagePage> {
      assertOpen('chat.search');
      const { branch = '*', limit = PAGE_MESSAGES_DEFAULT, before = Infinity } = options;
      if (typeof text !== 'string' || text === '') throw invalid('text', 'is a text to look for');
      checkCount(limit, 'limit', PAGE_MESSAGES_MAX);
      if (before !== Infinity) checkCount(before, 'before', Number.MAX_SAFE_INTEGER);
      return searchMessages(handle, { text, branch: checkBranch(branch), limit, before });
    },
  };
}

/** Makes a page of messages, newest first, with the problems between them. */
function toPage(
  { overview, damage }: ChatView,
  newestFirst: readonly ChatMessage[],
  { after, before }: { readonly after: number; readonly before: number },
): MessagePage {
  // The fold of a message shows it also when its line was damaged later.
  const shown = new Set(newestFirst.map(({ seq }) => seq));
  const holes = overview.problems
    .filter(({ kind, seq }) => kind === 'unreadable' && seq > after && seq < before)
    .filter(({ seq }) => !shown.has(seq))
    .map(toDamaged);
  const messages = [...newestFirst, ...holes].toSorted((a, b) => a.seq - b.seq);
  return { messages, ...(damage.length > 0 && before === Infinity && { damage }) };
}
