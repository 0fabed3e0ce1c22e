import { invalid } from '../../base/errors.ts';
import { PAGE_BYTES_MAX, SEARCH_MESSAGES_MAX } from '../events/limits.ts';
import { checkId } from '../events/names.ts';
import { MAIN_BRANCH } from '../events/payloads.ts';
import type { ChatView } from '../handle/chat-view.ts';
import type { ChatHandle } from '../handle/chat-writer.ts';
import type { Chat, MessagePage, MessageQuery } from '../handle/chats.ts';
import { type MessagePart, toDamaged, type ChatMessage } from '../projections/message-part.ts';
import {
  checkPage,
  checkBranch,
  findPart,
  visibleIn,
  walkBack,
  loadMessage,
} from './find-messages.ts';

type MessageVerbs = Pick<Chat, 'message' | 'messages' | 'search'>;

export function messageVerbs(handle: ChatHandle): MessageVerbs {
  const { view, home } = handle;
  const { engine } = home;
  return {
    async message(id) {
      const part = await view.run(() => findPart(view, checkId(id, 'message')));
      return part && loadMessage(engine, part);
    },

    async messages(query = {}) {
      const { branch = MAIN_BRANCH } = query;
      const { before, limit, maxContent } = checkPage(query);
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
          const message = await loadMessage(engine, part, maxContent);
          bytes += message.unread ?? message.content.length;
          messages.push(message);
        }
        return toPage(view, messages, { after: 0, before });
      });
    },

    async search(text, options = {}) {
      if (typeof text !== 'string' || text === '') throw invalid('text', 'must not be empty');
      const branch = checkBranch(options.branch ?? '*');
      return searchMessages(handle, { text, branch, ...checkPage(options) });
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

// A search reads messages from the newest on. The search works in stretches, and releases the chat between two of them.
// Messages that were read and did not match are not kept.

/** The number of messages looked at while nobody else has the chat. */
const STRETCH_MESSAGES = 20_000;

async function searchMessages(
  { view, home }: ChatHandle,
  { text, branch, limit, before, maxContent }: Required<MessageQuery> & { readonly text: string },
): Promise<MessagePage> {
  const wanted = text.toLocaleLowerCase('en');
  const found: ChatMessage[] = [];
  let [at, bytes] = [before, 0];
  for (let looked = 0; looked < SEARCH_MESSAGES_MAX; looked += STRETCH_MESSAGES) {
    const isThrough = await view.run(async () => {
      const isVisible = await visibleIn(view, branch);
      let count = 0;
      for await (const part of walkBack(view, { isVisible, before: at })) {
        if (count === STRETCH_MESSAGES || isFull()) return false;
        await look(part);
        count += 1;
      }
      return true;
    });
    if (isThrough) return { messages: found };
    if (isFull()) break;
  }
  return { messages: found, ...(at !== Infinity && { before: at }) };

  function isFull(): boolean {
    return found.length >= limit || bytes > PAGE_BYTES_MAX;
  }

  async function look(part: MessagePart): Promise<void> {
    at = part.first;
    const message = await loadMessage(home.engine, part);
    if (!message.content.toLocaleLowerCase('en').includes(wanted)) return;
    const { length } = message.content;
    bytes += length;
    found.push(length > maxContent ? { ...message, content: '', unread: length } : message);
  }
}
