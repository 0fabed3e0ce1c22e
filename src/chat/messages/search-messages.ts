import type { ChatHandle } from '../chat-handle.ts';
import type { MessagePage } from '../chats.ts';
import { visibleIn, walkBack } from './find-messages.ts';
import { PAGE_BYTES_MAX, SEARCH_MESSAGES_MAX } from '../limits.ts';
import { loadMessage } from './load-message.ts';
import type { MessagePart } from '../projections/message-part.ts';
import type { ChatMessage } from '../projections/message.ts';

// A search reads messages from the newest on. The search works in stretches, and releases the chat between two of them.
// Messages that were read and did not match are not kept.

/** The number of messages looked at while nobody else has the chat. */
const STRETCH_MESSAGES = 20_000;

export interface Wanted {
  readonly text: string;
  readonly branch: string;
  readonly limit: number;
  /** Only messages that began before this event. */
  readonly before: number;
}

export async function searchMessages(
  { view, world }: ChatHandle,
  { text, branch, limit, before }: Wanted,
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
    const message = await loadMessage(world.engine, part);
    if (!message.content.toLocaleLowerCase('en').includes(wanted)) return;
    bytes += message.content.length;
    found.push(message);
  }
}
