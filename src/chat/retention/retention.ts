import type { ChatInfo, ChatRetention } from '../chats.ts';

export interface RetentionPlan {
  readonly go: readonly ChatInfo[];
  readonly stay: readonly ChatInfo[];
}

/** Decides which chats go and touches none. */
export function planRetention(
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
