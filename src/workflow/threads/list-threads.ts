import { toHash, type Hash } from '../../base/brand.ts';
import { checkWhole } from '../../base/check-value.ts';
import { invalid } from '../../base/errors.ts';
import type { Engine, TimeRange } from '../../engine/engine.ts';
import { eachBundle, noteDoc } from '../home/documents.ts';
import { LIST_DEFAULT, LIST_MAX } from '../home/limits.ts';
import { readIndex, parseNote } from './thread-docs.ts';
import { walkHistory, type HistoryPlace, type HistoryQuery } from './list-history.ts';
import type { Thread, ListThreads, ThreadPage } from './workflows.ts';

const STATES = ['active', 'completed', 'all'];
/** The cursor between the threads under way and the finished ones. */
const ALL_ACTIVE = 'history';
/** The last moment that a date can have. */
const TIME_MAX = 8.64e15;

/** Lists threads under way, the last changed first; then the finished ones, the last to end first. */
export async function listThreads(engine: Engine, options: ListThreads): Promise<ThreadPage> {
  const { state = 'active', cursor } = options;
  if (!STATES.includes(state)) throw invalid('state', `must be one of ${STATES.join(', ')}`);
  const limit = checkWhole(options.limit ?? LIST_DEFAULT, 'limit', 1, LIST_MAX);
  const bundles =
    options.bundle === undefined
      ? await allOf(eachBundle(engine))
      : [toHash(options.bundle, 'bundle')];
  const range = checkRange(options);
  const from = cursor === undefined ? { active: 0, after: undefined } : parseCursor(cursor);
  const items: Thread[] = [];
  if (state !== 'completed' && from.active !== undefined) {
    const active = (await listActive(engine, bundles)).filter((thread) => isWithin(thread, range));
    items.push(...active.slice(from.active, from.active + limit));
    const end = from.active + items.length;
    if (end < active.length) return { items, cursor: `active.${end}` };
  }
  if (state === 'active') return { items };
  if (items.length === limit) return { items, cursor: ALL_ACTIVE };
  return addFinished(engine, { bundles, range, after: from.after }, { items, limit });
}

function checkRange({ since, until }: ListThreads): TimeRange {
  return {
    ...(since !== undefined && { since: checkTime(since, 'since') }),
    ...(until !== undefined && { until: checkTime(until, 'until') }),
  };
}

function checkTime(given: number | Date, what: string): number {
  const time = given instanceof Date ? given.getTime() : given;
  return checkWhole(time, what, 0, TIME_MAX);
}

function isWithin({ updatedAt }: Thread, { since = 0, until = Infinity }: TimeRange): boolean {
  return updatedAt >= since && updatedAt < until;
}

async function allOf<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

async function listActive(engine: Engine, bundles: readonly Hash[]): Promise<Thread[]> {
  const threads: Thread[] = [];
  for (const bundle of bundles) {
    for (const [id, entry] of (await readIndex(engine, bundle)).value) {
      const name = noteDoc(id);
      const doc = await engine.getDoc(name);
      const paused = doc !== undefined && parseNote(name, doc.content).paused === true;
      threads.push({ id, bundle, state: paused ? 'paused' : 'active', ...entry });
    }
  }
  return threads.toSorted((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1));
}

interface Cursor {
  /** The number of active threads that were given. Undefined: all of them were. */
  readonly active: number | undefined;
  /** The last finished thread that was given. */
  readonly after: HistoryPlace | undefined;
}

interface Listing {
  readonly items: Thread[];
  readonly limit: number;
}

async function addFinished(
  engine: Engine,
  query: HistoryQuery,
  { items, limit }: Listing,
): Promise<ThreadPage> {
  for await (const { at, bundle, thread, line } of walkHistory(engine, query)) {
    const { head, start, completedAt } = line;
    items.push({
      id: line.threadId,
      bundle,
      state: 'completed',
      head,
      start,
      updatedAt: completedAt,
    });
    if (items.length === limit) return { items, cursor: `history.${at}.${bundle}.${thread}` };
  }
  return { items };
}

function parseCursor(text: string): Cursor {
  if (text === ALL_ACTIVE) return { active: undefined, after: undefined };
  const [, active] = /^active\.(\d{1,9})$/.exec(text) ?? [];
  if (active !== undefined) return { active: Number(active), after: undefined };
  const [, at, bundle, thread] =
    /^history\.(\d{1,16})\.([0-9a-f]{64})\.(\w{1,64})$/.exec(text) ?? [];
  if (at === undefined || bundle === undefined || thread === undefined) {
    throw invalid('cursor', 'is not a cursor of an earlier page; start again without it');
  }
  return { active: undefined, after: { at: Number(at), bundle, thread } };
}
