import type { ChatsWorld } from './chats-world.ts';
import { blobsOf } from './chat-roots.ts';
import { logLines, readLines } from './chat-lines.ts';
import { walkChatIds } from './list-chats.ts';

const PAGE = 1000;

/** Whether a chat names these bytes, other than as an attachment of that message. Reads all of them. */
export async function attachmentUsers(
  world: ChatsWorld,
  hash: string,
  except: { readonly chat: string; readonly message: string },
): Promise<boolean> {
  for await (const id of walkChatIds(world.engine)) {
    const isUsed =
      id === except.chat ? await isUsedBeside(world, hash, except) : await isNamed(world, id, hash);
    if (isUsed) return true;
  }
  return false;
}

async function isNamed({ engine }: ChatsWorld, id: string, hash: string): Promise<boolean> {
  for await (const blob of blobsOf(engine, id)) if (blob === hash) return true;
  return false;
}

async function isUsedBeside(
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
