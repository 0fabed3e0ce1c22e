import { shown } from '../../base/text.ts';
import { invalid, isQuipuError } from '../../base/errors.ts';
import type { ChatsHome } from '../handle/chat-writer.ts';
import type { ChatInfo, ChatRetainReport, ChatRetention } from '../handle/chats.ts';
import { readInfo, walkChatIds } from '../handle/info.ts';

interface Retaining {
  readonly policy: ChatRetention;
  readonly dryRun: boolean;
  readonly archive: (id: string) => Promise<void>;
  readonly remove: (id: string) => Promise<void>;
}

/** Archives or removes the chats that the policy does not keep, one after the other. */
export async function retainChats(
  { engine, clock }: ChatsHome,
  retaining: Retaining,
): Promise<ChatRetainReport> {
  const { policy, dryRun } = retaining;
  const { action } = checkPolicy(policy);
  const chats: ChatInfo[] = [];
  for await (const id of walkChatIds(engine)) {
    const info = await readInfo(engine, id);
    if (info !== undefined) chats.push(info);
  }
  const { go, stay } = planRetention(chats, policy, clock());
  const done: ChatInfo[] = [];
  const damaged: string[] = [];
  for (const chat of go) {
    const outcome = dryRun || (await letGo(engine, chat, retaining[action]));
    if (outcome === 'damaged') damaged.push(chat.id);
    else if (outcome) done.push(chat);
  }
  const pinned = stay.filter((chat) => chat.pinned).length;
  return { action, chats: done, kept: chats.length - done.length, pinned, damaged, dryRun };
}

/** Returns false when the chat is in use again, or gone already. A damaged chat does not stop the others. */
async function letGo(
  engine: ChatsHome['engine'],
  chat: ChatInfo,
  act: (id: string) => Promise<void>,
): Promise<boolean | 'damaged'> {
  const now = await readInfo(engine, chat.id);
  if (now?.events !== chat.events || now.pinned) return false;
  try {
    await act(chat.id);
    return true;
  } catch (error) {
    if (isQuipuError(error, 'NOT_FOUND') || isQuipuError(error, 'HEAD_MOVED')) return false;
    if (isQuipuError(error, 'CORRUPT')) return 'damaged';
    throw error;
  }
}

function checkPolicy(policy: ChatRetention): { action: 'archive' | 'remove' } {
  const { maxAgeMs, maxBytes, action = 'archive' } = policy;
  for (const [what, value] of Object.entries({ maxAgeMs, maxBytes })) {
    if (value === undefined || (typeof value === 'number' && value >= 0)) continue;
    throw invalid(what, `must be a number from 0, got ${shown(value)}`);
  }
  if (maxAgeMs === undefined && maxBytes === undefined) {
    throw invalid('policy', 'needs maxAgeMs or maxBytes; without them nothing would ever go');
  }
  if (action !== 'archive' && action !== 'remove') {
    throw invalid('action', `must be "archive" or "remove", got ${shown(action)}`);
  }
  return { action };
}

interface RetentionPlan {
  readonly go: readonly ChatInfo[];
  readonly stay: readonly ChatInfo[];
}

/** Decides which chats go and touches none. */
function planRetention(
  chats: readonly ChatInfo[],
  { maxAgeMs = Infinity, maxBytes = Infinity, action = 'archive' }: ChatRetention,
  nowMs: number,
): RetentionPlan {
  const go: ChatInfo[] = [];
  const stay: ChatInfo[] = [];
  let bytes = 0;
  let isFull = false;
  for (const chat of chats.toSorted(byClaim)) {
    // An archived chat takes no room as a log, and cannot be archived again.
    const isDone = action === 'archive' && (chat.archivedAt !== undefined || chat.events === 0);
    if (chat.pinned || isDone) {
      stay.push(chat);
      bytes += isDone ? 0 : chat.bytes;
      continue;
    }
    const isOld = nowMs - Date.parse(chat.updatedAt) > maxAgeMs;
    // Once a chat did not fit, all older ones go too: a gap in the history would surprise.
    isFull ||= !isOld && bytes + chat.bytes > maxBytes;
    if (isOld || isFull) {
      go.push(chat);
      continue;
    }
    stay.push(chat);
    bytes += chat.bytes;
  }
  return { go, stay };
}

/** Sorts pinned chats first, then by age, newest first: the order in which chats may claim to stay. */
function byClaim(a: ChatInfo, b: ChatInfo): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  return Date.parse(b.updatedAt) - Date.parse(a.updatedAt) || (a.id < b.id ? 1 : -1);
}
