import { isQuipuError } from '../../base/errors.ts';
import type { Context } from '../../context/context.ts';
import type { Store } from '../../store/store.ts';

// Everything in the store in one list, newest first: contexts, chats, workflow threads, sessions and queues. Contexts
// come in this order from the engine, page by page. Of each other kind up to 10,000 are read and sorted, and kept for
// two seconds, because every open page asks again when something happens.

export const THREAD_KINDS = ['context', 'chat', 'workflow', 'session', 'queue'] as const;
export type ThreadKind = (typeof THREAD_KINDS)[number];

export interface ThreadSummary {
  readonly kind: ThreadKind;
  readonly id: string;
  readonly title: string;
  readonly updatedAt: number;
  /** One line about the thread. */
  readonly detail?: string;
  /** Turns, events, steps or entries. */
  readonly turns?: number;
  readonly labels?: readonly string[];
  readonly state?: string;
  /** True while something is being written. */
  readonly live?: true;
}

export interface ThreadQuery {
  readonly kind?: ThreadKind;
  readonly limit: number;
  readonly cursor?: string;
}

export interface ThreadList {
  readonly items: readonly ThreadSummary[];
  readonly cursor?: string;
}

const READ_MAX = 10_000;
const PAGE = 1000;
const KEPT_MS = 2000;

type OtherKind = Exclude<ThreadKind, 'context'>;

/** The place of a thread in the list: newest first, and among equals by kind and id. */
interface Place {
  readonly updatedAt: number;
  readonly kind: ThreadKind;
  readonly id: string;
}

export class RecentThreads {
  readonly #store: Store;
  readonly #kept = new Map<OtherKind, { at: number; list: Promise<ThreadSummary[]> }>();

  constructor(store: Store) {
    this.#store = store;
  }

  async list({ kind, limit, cursor }: ThreadQuery): Promise<ThreadList> {
    const after = cursor === undefined ? undefined : parsePlace(cursor);
    const kinds = kind === undefined ? THREAD_KINDS : [kind];
    const lists = await Promise.all(kinds.map((one) => this.#after(one, limit + 1, after)));
    const sorted = lists.flat().sort(compare);
    const items = sorted.slice(0, limit);
    const last = items.at(-1);
    return sorted.length > limit && last !== undefined
      ? { items, cursor: toCursor(last) }
      : { items };
  }

  async #after(
    kind: ThreadKind,
    limit: number,
    after: Place | undefined,
  ): Promise<ThreadSummary[]> {
    if (kind === 'context') return this.#contexts(limit, after);
    const list = await this.#others(kind);
    return list.filter((item) => after === undefined || compare(after, item) < 0).slice(0, limit);
  }

  async #contexts(limit: number, after: Place | undefined): Promise<ThreadSummary[]> {
    const found: ThreadSummary[] = [];
    // Contexts of the same millisecond as the last item may stand on either side of it.
    const until = after === undefined ? {} : { updated: { until: after.updatedAt + 1 } };
    for (let cursor: string | undefined, more = true; more && found.length < limit;) {
      const page = await this.#store.contexts.list({ ...until, limit, ...(cursor && { cursor }) });
      for (const context of page.items) {
        const item = ofContext(context);
        if (after === undefined || compare(after, item) < 0) found.push(item);
      }
      ({ cursor } = page);
      more = cursor !== undefined;
    }
    return found.slice(0, limit);
  }

  #others(kind: OtherKind): Promise<ThreadSummary[]> {
    const now = Date.now();
    const kept = this.#kept.get(kind);
    if (kept !== undefined && now - kept.at < KEPT_MS) return kept.list;
    const list = READERS[kind](this.#store)
      .catch(noneIfUnsupported)
      .then((items) => items.sort(compare));
    this.#kept.set(kind, { at: now, list });
    list.catch(() => this.#kept.delete(kind));
    return list;
  }
}

const READERS: Readonly<Record<OtherKind, (store: Store) => Promise<ThreadSummary[]>>> = {
  chat: readChats,
  workflow: readWorkflows,
  session: readSessions,
  queue: readQueues,
};

function ofContext(context: Context): ThreadSummary {
  const { id, title, name, kind, labels, updatedAt, head, headDepth, openTurn } = context;
  return {
    kind: 'context',
    id: String(id),
    title: title ?? name ?? `Context ${id}`,
    updatedAt,
    ...(kind !== undefined && { detail: kind }),
    turns: head === 0n ? 0 : headDepth + 1,
    ...(labels.length > 0 && { labels }),
    ...(openTurn !== 0n && { live: true as const }),
  };
}

async function readChats({ chats }: Store): Promise<ThreadSummary[]> {
  const items = await readAll((page) => chats.list(page));
  return items.map(({ id, title, updatedAt, events, archivedAt }) => ({
    kind: 'chat',
    id,
    title: title === '' ? `Chat ${id}` : title,
    updatedAt: Date.parse(updatedAt),
    turns: events,
    ...(archivedAt !== undefined && { state: 'archived' }),
  }));
}

async function readWorkflows({ workflows }: Store): Promise<ThreadSummary[]> {
  const items = await readAll((page) => workflows.list({ state: 'all', details: true, ...page }));
  return items.map(({ id, state, updatedAt, name, prompt, outcome }) => ({
    kind: 'workflow',
    id,
    title: name ?? `Workflow ${id}`,
    updatedAt,
    state: outcome ?? state,
    ...(prompt !== undefined && { detail: prompt }),
    ...(state === 'active' && { live: true as const }),
  }));
}

async function readSessions({ sessions }: Store): Promise<ThreadSummary[]> {
  const items = await readAll((page) => sessions.list(page));
  return items.map(({ id, header, updatedAt, available }) => ({
    kind: 'session',
    id,
    title: textOf(header?.['title']) ?? `Session ${id}`,
    updatedAt: updatedAt === undefined ? 0 : Date.parse(updatedAt),
    ...(textOf(header?.['cwd']) !== undefined && { detail: textOf(header?.['cwd']) as string }),
    ...(!available && { state: 'not available' }),
  }));
}

async function readQueues({ queues }: Store): Promise<ThreadSummary[]> {
  const all = await queues.list();
  return Promise.all(
    all
      .slice(0, READ_MAX)
      .map(async ({ name, event_count: events, last_event_id: last, subscriptions }) => {
        const queue = await queues.open(name, { create: false });
        const [newest] = last === 0 ? [] : await queue.peek({ lastEventId: last - 1, limit: 1 });
        return {
          kind: 'queue' as const,
          id: name,
          title: name,
          updatedAt: newest === undefined ? 0 : Date.parse(newest.created_at),
          turns: events,
          detail: `${subscriptions} ${subscriptions === 1 ? 'consumer' : 'consumers'}`,
        };
      }),
  );
}

type ListPage<T> = { readonly items: readonly T[]; readonly cursor?: string };

/** Reads a list page by page, up to `READ_MAX` items. */
async function readAll<T>(
  list: (page: { limit: number; cursor?: string }) => Promise<ListPage<T>>,
): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | undefined; all.length < READ_MAX;) {
    const page = await list({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    all.push(...page.items);
    ({ cursor } = page);
    if (cursor === undefined) break;
  }
  return all;
}

/** A store may have no place for a kind of thread. */
function noneIfUnsupported(error: unknown): ThreadSummary[] {
  if (isQuipuError(error, 'UNSUPPORTED')) return [];
  throw error;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function compare(a: Place, b: Place): number {
  if (a.updatedAt !== b.updatedAt) return b.updatedAt - a.updatedAt;
  const [left, right] = [`${a.kind}/${a.id}`, `${b.kind}/${b.id}`];
  return left < right ? -1 : left > right ? 1 : 0;
}

function toCursor({ updatedAt, kind, id }: Place): string {
  return Buffer.from(JSON.stringify([updatedAt, kind, id])).toString('base64url');
}

/** Throws a plain error for text that is no cursor; the caller names the argument. */
export function parsePlace(cursor: string): Place {
  const [updatedAt, kind, id] = JSON.parse(
    Buffer.from(cursor, 'base64url').toString(),
  ) as unknown[];
  if (
    typeof updatedAt !== 'number' ||
    typeof id !== 'string' ||
    !THREAD_KINDS.includes(kind as ThreadKind)
  ) {
    throw new Error('not a cursor');
  }
  return { updatedAt, kind: kind as ThreadKind, id };
}
