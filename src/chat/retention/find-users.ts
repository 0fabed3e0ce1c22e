import type { ChatsWorld } from '../chats-world.ts';
import { logLines, readLines } from '../events/chat-lines.ts';

const PAGE = 1000;

/** Returns whether a chat has these bytes as an attachment of another message than this one. */
export async function hasOtherUse(
  { engine, upcasters }: ChatsWorld,
  hash: string,
  { chat, message }: { readonly chat: string; readonly message: string },
): Promise<boolean> {
  const lines = logLines(engine, chat);
  for (let from = 0; ; from += PAGE) {
    const page = await readLines(lines, upcasters, from, PAGE);
    for (const { written } of page) {
      if (written?.type !== 'attachment_added' || written.payload['hash'] !== hash) continue;
      if (written.payload['message_id'] !== message) return true;
    }
    if (page.length < PAGE) return false;
  }
}
