import { checkWhole } from '../../base/check-value.ts';
import { given } from '../../base/given.ts';
import type { Engine } from '../../engine/engine.ts';
import { measureLog } from '../events/chat-lines.ts';
import { LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX } from '../events/limits.ts';
import { newMeta, readMeta, type ChatMeta } from '../events/documents.ts';
import {
  META_PREFIX,
  chatOfEvents,
  chatOfMeta,
  checkId,
  eventsLog,
  metaDoc,
} from '../events/names.ts';
import type { ChatView } from './chat-view.ts';
import type { ChatInfo, ChatStatus, ChatList } from './chats.ts';

export function toInfo(meta: ChatMeta, size: { events: number; bytes: number }): ChatInfo {
  const { session_id: id, title, created_at, updated_at, pinned, archived_at } = meta;
  return {
    id,
    title,
    createdAt: created_at,
    updatedAt: updated_at,
    pinned,
    ...given({ archivedAt: archived_at }),
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
    problems: (await view.foundProblems()).count + view.damage.length,
  };
}

const PAGE = 500;

/** Returns the ids of up to `limit` chats after `after`, sorted: those with a log, a document or both. */
async function listChatIds(engine: Engine, limit: number, after?: string): Promise<string[]> {
  // A name goes on with ".", which sorts before every character of an id: names sort as ids do.
  const past = (nameOf: (id: string) => string): string | undefined =>
    after === undefined ? undefined : nameOf(after);
  const docs = await engine.listDocs(META_PREFIX, limit, past(metaDoc));
  const logs = await engine.listLogs(META_PREFIX, limit, past(eventsLog));
  const ids = new Set([...docs.map(chatOfMeta), ...logs.map(chatOfEvents)]);
  return [...ids]
    .filter((id) => id !== undefined)
    .toSorted()
    .slice(0, limit);
}

export async function* walkChatIds(engine: Engine): AsyncGenerator<string, void, undefined> {
  let after: string | undefined;
  for (;;) {
    const ids = await listChatIds(engine, PAGE, after);
    yield* ids;
    after = ids.at(-1);
    if (after === undefined) return;
  }
}

export async function listChats(
  engine: Engine,
  { limit = LIST_LIMIT_DEFAULT, cursor }: { readonly limit?: number; readonly cursor?: string },
): Promise<ChatList> {
  checkWhole(limit, 'limit', 1, LIST_LIMIT_MAX);
  const after = cursor === undefined ? undefined : checkId(cursor, 'cursor');
  const ids = await listChatIds(engine, limit, after);
  const infos = await Promise.all(ids.map((id) => readInfo(engine, id)));
  const last = ids.at(-1);
  return {
    items: infos.filter((info) => info !== undefined),
    ...(ids.length === limit && last !== undefined && { cursor: last }),
  };
}

/** Returns undefined when the chat was removed meanwhile. */
export async function readInfo(engine: Engine, id: string): Promise<ChatInfo | undefined> {
  const stored = await readMeta(engine, id);
  const size = stored?.meta.archive ?? (await measureLog(engine, id));
  if (stored === undefined && size === undefined) return undefined;
  const { lines: events = 0, bytes = 0 } = size ?? {};
  return toInfo(stored?.meta ?? newMeta(id, '', 0), { events, bytes });
}
