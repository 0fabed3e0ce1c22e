import { setImmediate } from 'node:timers/promises';
import { isQuipuError } from '../../base/errors.ts';
import type { Context } from '../../context/context.ts';
import type { Engine } from '../../engine/engine.ts';
import { LEDGER_KIND } from '../../import/show/imported-turn.ts';
import type { Store } from '../../store/store.ts';
import { given } from '../../base/given.ts';
import { eachPage } from '../../base/pages.ts';
import { extractOf } from '../../search/text/extract.ts';

// Everything that people read in one list, newest first: contexts, chats, workflow threads, sessions and queues. Contexts
// come in this order from the engine, page by page. The other kinds are listed by id, so all of them are read, and the
// newest 10,000 of each are kept. They are read again after a commit that may have changed them, and no more often than
// a quarter of the time goes into reading, because every open page asks when something happens.

export const THREAD_KINDS = ['context', 'chat', 'workflow', 'session', 'queue'] as const;
type ThreadKind = (typeof THREAD_KINDS)[number];

interface ThreadSummary {
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

interface ThreadQuery {
  readonly kind?: ThreadKind;
  readonly limit: number;
  readonly cursor?: string;
}

interface ThreadList {
  readonly items: readonly ThreadSummary[];
  readonly cursor?: string;
}

const KEPT_MAX = 10_000;
const PAGE = 1000;
/** Events of queues do not go through the engine: nobody tells of them. */
const QUEUES_MS = 2000;
const REST = 3;

const DETAIL_CHARS = 160;
const LINES_AT_ONCE = 20;

type OtherKind = Exclude<ThreadKind, 'context'>;

/** The place of a thread in the list: newest first, and among equals by kind and id. */
interface Place {
  readonly updatedAt: number;
  readonly kind: ThreadKind;
  readonly id: string;
}

/** The threads of a kind as they were read. */
interface Kept {
  readonly list: Promise<ThreadSummary[]>;
  /** Undefined while the list is being read. */
  readAtMs: number | undefined;
  tookMs: number;
  isChanged: boolean;
}

export class RecentThreads {
  readonly #store: Store;
  readonly #kept = new Map<OtherKind, Kept>();
  /** Lines of chats, by id and length: what was read is known until the chat grows. */
  readonly #chatLines = new Map<string, string | undefined>();
  readonly #stop: () => void;

  constructor({ store, engine }: { store: Store; engine: Engine }) {
    this.#store = store;
    const noteChange = (): void => {
      for (const kept of this.#kept.values()) kept.isChanged = true;
    };
    this.#stop = engine.subscribe(({ logs, docs, removedLogs, removedDocs }) => {
      if (logs.length + docs.length + removedLogs.length + removedDocs.length > 0) noteChange();
    }, noteChange);
  }

  close(): void {
    this.#stop();
  }

  async list({ kind, limit, cursor }: ThreadQuery): Promise<ThreadList> {
    const after = cursor === undefined ? undefined : parsePlace(cursor);
    const kinds = kind === undefined ? THREAD_KINDS : [kind];
    const lists = await Promise.all(kinds.map((one) => this.#after(one, limit + 1, after)));
    const sorted = lists.flat().sort(compare);
    const items: ThreadSummary[] = [];
    const page = sorted.slice(0, limit);
    for (let at = 0; at < page.length; at += LINES_AT_ONCE) {
      const some = page.slice(at, at + LINES_AT_ONCE);
      items.push(...(await Promise.all(some.map((item) => this.#withLine(item)))));
    }
    const last = items.at(-1);
    return sorted.length > limit && last !== undefined
      ? { items, cursor: toCursor(last) }
      : { items };
  }

  /** Undefined when the thread has no title, or is not among the newest. */
  async titleOf(kind: ThreadKind, id: string): Promise<string | undefined> {
    if (kind !== 'context') return (await this.#others(kind)).find((item) => item.id === id)?.title;
    const context = await this.#store.contexts.get(id);
    return context?.title ?? context?.name;
  }

  async #withLine(item: ThreadSummary): Promise<ThreadSummary> {
    const { kind, id, turns = 0 } = item;
    let line: string | undefined;
    if (kind === 'context' && turns > 0) line = await lastWords(this.#store, id);
    if (kind === 'chat' && turns > 0) line = await this.#chatLine(id, turns);
    return line === undefined ? item : { ...item, detail: line };
  }

  async #chatLine(id: string, events: number): Promise<string | undefined> {
    if (events > CHAT_EVENTS_MAX) return undefined;
    const key = `${id}/${events}`;
    if (this.#chatLines.has(key)) return this.#chatLines.get(key);
    const line = await chatLine(this.#store, id);
    if (this.#chatLines.size >= CHATS_KEPT) this.#chatLines.clear();
    this.#chatLines.set(key, line);
    return line;
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
    const { contexts } = this.#store;
    for await (const { items } of eachPage((at) => contexts.list({ ...until, limit, ...at }))) {
      for (const context of items) {
        if (context.kind === LEDGER_KIND) continue;
        const item = ofContext(context);
        if (after === undefined || compare(after, item) < 0) found.push(item);
      }
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }

  #others(kind: OtherKind): Promise<ThreadSummary[]> {
    const kept = this.#kept.get(kind);
    if (kept !== undefined && isFresh(kind, kept)) return kept.list;
    const startedMs = performance.now();
    const list = READERS[kind](this.#store).catch(noneIfUnsupported);
    const reading: Kept = { list, readAtMs: undefined, tookMs: 0, isChanged: false };
    this.#kept.set(kind, reading);
    list.then(
      () => {
        reading.readAtMs = performance.now();
        reading.tookMs = reading.readAtMs - startedMs;
      },
      () => this.#kept.delete(kind),
    );
    return list;
  }
}

function isFresh(kind: OtherKind, { readAtMs, tookMs, isChanged }: Kept): boolean {
  if (readAtMs === undefined) return true;
  const age = performance.now() - readAtMs;
  if (age < REST * tookMs) return true;
  return kind === 'queue' ? age < QUEUES_MS : !isChanged;
}

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

const READERS: Readonly<Record<OtherKind, (store: Store) => Promise<ThreadSummary[]>>> = {
  chat: ({ chats }) =>
    readNewest(
      (page) => chats.list(page),
      ({ id, title, updatedAt, events, archivedAt }) => ({
        kind: 'chat',
        id,
        title: title === '' ? `Chat ${id}` : title,
        updatedAt: Date.parse(updatedAt),
        turns: events,
        ...(archivedAt !== undefined && { state: 'archived' }),
      }),
    ),
  workflow: ({ workflows }) =>
    readNewest(
      (page) => workflows.list({ state: 'all', details: true, ...page }),
      ({ id, state, updatedAt, name, prompt, outcome }) => ({
        kind: 'workflow',
        id,
        title: name ?? `Workflow ${id}`,
        updatedAt,
        state: outcome ?? state,
        ...(prompt !== undefined && { detail: prompt.slice(0, DETAIL_CHARS) }),
        ...(state === 'active' && { live: true as const }),
      }),
    ),
  session: ({ sessions }) =>
    readNewest(
      (page) => sessions.list(page),
      ({ id, header, updatedAt, available }) => ({
        kind: 'session',
        id,
        title: textOf(header?.['title']) ?? `Session ${id}`,
        updatedAt: updatedAt === undefined ? 0 : Date.parse(updatedAt),
        ...given({ detail: textOf(header?.['cwd'])?.slice(0, DETAIL_CHARS) }),
        ...(!available && { state: 'not available' }),
      }),
    ),
  queue: readQueues,
};

async function readQueues({ queues }: Store): Promise<ThreadSummary[]> {
  const found: ThreadSummary[] = [];
  for (const {
    name,
    event_count: turns,
    last_event_id: last,
    subscriptions,
  } of await queues.list()) {
    const queue = await queues.open(name, { create: false });
    const [newest] = last === 0 ? [] : await queue.peek({ lastEventId: last - 1, limit: 1 });
    found.push({
      kind: 'queue',
      id: name,
      title: name,
      updatedAt: newest === undefined ? 0 : Date.parse(newest.created_at),
      turns,
      detail: `${subscriptions} ${subscriptions === 1 ? 'consumer' : 'consumers'}`,
    });
  }
  return found.sort(compare).slice(0, KEPT_MAX);
}

type ListPage<T> = { readonly items: readonly T[]; readonly cursor?: string };

/** Reads a list page by page. Memory holds the newest `KEPT_MAX` of it and a page. */
async function readNewest<T>(
  list: (page: { limit: number; cursor?: string }) => Promise<ListPage<T>>,
  toSummary: (item: T) => ThreadSummary,
): Promise<ThreadSummary[]> {
  let newest: ThreadSummary[] = [];
  for await (const { items } of eachPage((after) => list({ limit: PAGE, ...after }))) {
    newest.push(...items.map(toSummary));
    if (newest.length > 2 * KEPT_MAX) newest = newest.sort(compare).slice(0, KEPT_MAX);
    // Reads from memory leave no room for others.
    await setImmediate();
  }
  return newest.sort(compare).slice(0, KEPT_MAX);
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

// One line about a thread. What is hidden or erased is not in it.

/** Longer payloads are not read for one line of them. */
const PAYLOAD_BYTES_MAX = 16_384;
/** A chat is folded for its open question; a long one takes too long for that. */
const CHAT_EVENTS_MAX = 1000;
const LINE_CHARS = 160;
const CHATS_KEPT = 1000;

/** The last message of a context. Undefined when there is nothing to show. */
async function lastWords(store: Store, context: string): Promise<string | undefined> {
  try {
    const { turns } = await store.contexts.last(context, 1, { payload: PAYLOAD_BYTES_MAX });
    const turn = turns.at(-1);
    return turn?.payload === undefined
      ? undefined
      : toLine(extractOf(turn.type, turn.payload).texts);
  } catch {
    // A context that went away or cannot be read is still listed.
    return undefined;
  }
}

/** The open question of a chat, or what was said last in it. Undefined when the chat cannot be read. */
async function chatLine({ chats }: Store, id: string): Promise<string | undefined> {
  try {
    const chat = await chats.open(id);
    const [question] = (await chat.status()).clarification.open?.questions ?? [];
    if (question !== undefined) return toLine([`Waiting for your answer: ${question.text}`]);
    const { messages } = await chat.messages({ limit: 1 });
    return toLine([messages.at(-1)?.content ?? '']);
  } catch {
    // As for a context.
    return undefined;
  }
}

function toLine(texts: readonly string[]): string | undefined {
  const text = texts.join(' ').slice(0, LINE_CHARS * 8);
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line === '' ? undefined : line.slice(0, LINE_CHARS);
}
