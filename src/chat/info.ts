import type { ChatView } from './chat-view.ts';
import type { ChatInfo, ChatStatus } from './chats.ts';
import type { ChatMeta } from './meta.ts';

export function toInfo(meta: ChatMeta, size: { events: number; bytes: number }): ChatInfo {
  const { session_id: id, title, created_at, updated_at, pinned, archived_at } = meta;
  return {
    id,
    title,
    createdAt: created_at,
    updatedAt: updated_at,
    pinned,
    ...(archived_at !== undefined && { archivedAt: archived_at }),
    events: size.events,
    bytes: size.bytes,
  };
}

/** Call this within `view.run`. */
export async function toStatus(view: ChatView): Promise<ChatStatus> {
  const { overview } = view;
  const { begun } = await view.tail();
  const { lastAt } = overview.usage;
  const info = toInfo(view.stored.meta, view);
  return {
    ...info,
    // The document lags behind the log.
    ...(lastAt !== undefined && lastAt > info.updatedAt && { updatedAt: lastAt }),
    messages: view.segments.begun + begun.length,
    usage: overview.usage,
    clarification: overview.clarification,
    branches: overview.branches,
    problems: overview.problemCount + view.damage.length,
  };
}
