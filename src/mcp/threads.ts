import { given } from '../base/given.ts';
import { invalid, notFound } from '../base/errors.ts';
import type { Store } from '../store/store.ts';
import { PAYLOAD_BYTES, clip, toEntry, type Entry } from './bounded-text.ts';

// The kinds of thread as one: a list of them, and pages of their entries from the newest on.

export const KINDS = ['context', 'chat', 'workflow', 'session'] as const;
export type Kind = (typeof KINDS)[number];

export interface ListedThread {
  readonly id: string;
  readonly name?: string | undefined;
  readonly title?: string | undefined;
  readonly [fact: string]: unknown;
}

export interface Listed {
  readonly threads: readonly ListedThread[];
  readonly cursor?: string;
}

export interface ListQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** For contexts. */
  readonly label?: string | undefined;
  readonly name_prefix?: string | undefined;
}

export interface ReadQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Sorted from older to newer. The cursor leads to older entries. */
export interface EntryPage {
  readonly entries: readonly Entry[];
  readonly cursor?: string;
}

interface ThreadKind {
  list(store: Store, query: ListQuery): Promise<Listed>;
  read(store: Store, thread: string, query: ReadQuery): Promise<EntryPage>;
}

const TITLE_CHARS = 200;
const LABELS_CHARS = 300;
const withCursor = (cursor: string | number | bigint | undefined): { cursor?: string } =>
  cursor === undefined ? {} : { cursor: String(cursor) };
const pageOf = ({ limit, cursor }: ReadQuery): { limit: number; cursor?: string } => ({
  limit,
  ...withCursor(cursor),
});
const short = (text: string | undefined): string | undefined => text && clip(text, TITLE_CHARS);

/** Returns as many labels as fit, each of them whole: a label can be asked for. */
function fitLabels(labels: readonly string[]): string[] {
  let left = LABELS_CHARS;
  return labels.filter((label) => (left -= label.length) >= 0);
}

/** Returns the context with this id, or with this name after an @. */
export async function findContext(
  store: Store,
  given: string,
): Promise<{ id: bigint; head: bigint }> {
  const isId = /^[1-9]\d{0,19}$/.test(given);
  const name = given.startsWith('@') ? given.slice(1) : given;
  const context = await (isId ? store.contexts.get(given) : store.contexts.byName(name));
  if (context === undefined)
    throw notFound('context', given, `there is no context ${clip(given, 100)}`);
  return context;
}

export const THREADS: Readonly<Record<Kind, ThreadKind>> = {
  context: {
    async list(store, { label, name_prefix: namePrefix, ...page }) {
      const query = { ...pageOf(page), ...given({ label, namePrefix }) };
      const { items, cursor } = await store.contexts.list(query);
      const threads = items.map((context) => ({
        id: String(context.id),
        name: short(context.name),
        title: short(context.title),
        labels: fitLabels(context.labels),
        turns: context.head === 0n ? 0 : context.headDepth + 1,
        updated: new Date(context.updatedAt).toISOString(),
      }));
      return { threads, ...withCursor(cursor) };
    },
    async read(store, thread, { limit, cursor }) {
      const { id } = await findContext(store, thread);
      const read = { payload: PAYLOAD_BYTES };
      const page =
        cursor === undefined
          ? await store.contexts.last(id, limit, read)
          : await store.contexts.before(id, cursor, limit, read);
      return { entries: page.turns.map(toEntry), ...withCursor(page.cursor) };
    },
  },

  chat: {
    async list(store, page) {
      const { items, cursor } = await store.chats.list(pageOf(page));
      const threads = items.map(({ id, title, updatedAt }) => ({
        id,
        title: short(title),
        updated: updatedAt,
      }));
      return { threads, ...withCursor(cursor) };
    },
    async read(store, thread, { limit, cursor }) {
      const chat = await store.chats.open(thread);
      const before = cursor === undefined ? {} : { before: toNumber(cursor) };
      const page = await chat.messages({ limit, maxContent: PAYLOAD_BYTES, ...before });
      const entries = page.messages.map(({ id, at, role, content, unread, redacted, damaged }) => {
        const left = unread === undefined ? content : `[about ${unread} bytes: too long to show]`;
        const text = redacted === undefined ? left : `[removed: ${clip(redacted.reason, 200)}]`;
        return { id, at, role, text: damaged === undefined ? text : '[damaged]' };
      });
      return { entries, ...withCursor(page.before) };
    },
  },

  workflow: {
    async list(store, page) {
      const all = { state: 'all', details: true } as const;
      const { items, cursor } = await store.workflows.list({ ...pageOf(page), ...all });
      const threads = items.map(({ id, name, prompt, state, updatedAt }) => {
        const updated = new Date(updatedAt).toISOString();
        return { id, name: short(name), title: short(prompt), state, updated };
      });
      return { threads, ...withCursor(cursor) };
    },
    async read(store, thread, { limit, cursor }) {
      const before = cursor === undefined ? {} : { before: cursor };
      const maxBytes = PAYLOAD_BYTES * limit;
      const page = await store.workflows.steps(thread, { limit, maxBytes, ...before });
      const entries = page.steps.map(({ hash, role, timestamp, content = '' }) => {
        return { id: hash, at: new Date(timestamp).toISOString(), role, text: content };
      });
      return { entries, ...withCursor(page.cursor) };
    },
  },

  session: {
    async list(store, page) {
      const { items, cursor } = await store.sessions.list(pageOf(page));
      // Neither the path of the file nor the rest of the header, which may be long: they are about the machine.
      const threads = items.map(({ id, header, available, sizeBytes, updatedAt }) => {
        const title = header?.['title'];
        const facts = { available, bytes: sizeBytes, updated: short(updatedAt) };
        return { id, title: typeof title === 'string' ? short(title) : undefined, ...facts };
      });
      return { threads, ...withCursor(cursor) };
    },
    async read(store, thread, { limit, cursor }) {
      // A path would reach files of the machine.
      if (!/^[\w-]{1,128}$/.test(thread)) throw invalid('thread', 'must be the id of a session');
      const session = await store.sessions.open(thread);
      try {
        const before = cursor === undefined ? {} : { before: toNumber(cursor) };
        const page = await session.last(limit, { maxBytes: PAYLOAD_BYTES * limit, ...before });
        const entries = page.entries.map(({ id, type, timestamp, ...fields }) => {
          return { id, at: timestamp, type, text: JSON.stringify(fields) };
        });
        return { entries, ...withCursor(page.cursor) };
      } finally {
        await session.close();
      }
    },
  },
};

function toNumber(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor))
    throw invalid('cursor', 'is not a cursor of an earlier page; start again without it');
  return Number(cursor);
}

const LOOK_PAGES = 40;
const LOOK_ENTRIES = 50;

/** Returns the entries around one, however old it is in a context, and among the newest 2,000 elsewhere. */
export async function readAround(
  store: Store,
  kind: Kind,
  { thread, id, count }: { readonly thread: string; readonly id: string; readonly count: number },
): Promise<readonly Entry[]> {
  if (kind === 'context') {
    const turn = await store.contexts.turn(id, { payload: false });
    if (turn === undefined) throw notFound('turn', id, `there is no turn ${id}`);
    const context = await findContext(store, thread);
    const from = Math.max(0, turn.depth - count);
    const read = { payload: PAYLOAD_BYTES };
    const page = await store.contexts.range(context.id, from, turn.depth + count + 1, read);
    // The context may have left the branch of the turn.
    if (page.turns.some((one) => one.id === turn.id)) return page.turns.map(toEntry);
    const own = await store.contexts.before(turn.context, turn.id, count, read);
    const itself = await store.contexts.turn(id, read);
    return [...own.turns, ...(itself === undefined ? [] : [itself])].map(toEntry);
  }
  let found: readonly Entry[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < LOOK_PAGES; pages += 1) {
    const page = await THREADS[kind].read(store, thread, { limit: LOOK_ENTRIES, cursor });
    found = [...page.entries, ...found];
    const at = found.findIndex((entry) => entry.id === id);
    ({ cursor } = page);
    if (at >= count || (at !== -1 && cursor === undefined))
      return found.slice(Math.max(0, at - count), at + count + 1);
    if (cursor === undefined) break;
    // Only what may stand around the entry is kept.
    if (at === -1) found = found.slice(0, count);
  }
  throw notFound('entry', id, `${kind} ${thread} has no such entry among its newest`);
}
