import { toHash, type Hash } from '../../base/brand.ts';
import { checkWhole } from '../../base/check-value.ts';
import { invalid } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { eachBundle, eachHistory, noteDoc } from '../home/documents.ts';
import { LIST_DEFAULT, LIST_MAX } from '../home/limits.ts';
import { readIndex } from './read-thread.ts';
import { parseHistoryLine, parseNote } from './thread-docs.ts';
import type { Thread, ListThreads, ThreadPage } from './workflows.ts';

const STATES = ['active', 'completed', 'all'];

/** Lists threads under way, the last changed first; then the finished ones, newest day first. */
export async function listThreads(engine: Engine, options: ListThreads): Promise<ThreadPage> {
  const { state = 'active', cursor } = options;
  if (!STATES.includes(state)) throw invalid('state', `is one of ${STATES.join(', ')}`);
  const limit = checkWhole(options.limit ?? LIST_DEFAULT, 'limit', 1, LIST_MAX);
  const bundles =
    options.bundle === undefined
      ? await allOf(eachBundle(engine))
      : [toHash(options.bundle, 'bundle')];
  const from = cursor === undefined ? undefined : parseCursor(cursor);
  const items: Thread[] = [];
  if (state !== 'completed' && from?.at !== 'history') {
    const active = await listActive(engine, bundles);
    const start = from?.line ?? 0;
    items.push(...active.slice(start, start + limit));
    const end = start + items.length;
    if (end < active.length) return { items, cursor: `active.${end}` };
  }
  if (state === 'active') return { items };
  if (items.length === limit) return { items, cursor: 'history...' };
  return addFinished(engine, bundles, { items, limit, from });
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
  readonly at: 'active' | 'history';
  readonly day: string;
  readonly bundle: string;
  /** Lines before this one are still to come. */
  readonly line: number | undefined;
}

interface Listing {
  readonly items: Thread[];
  readonly limit: number;
  readonly from: Cursor | undefined;
}

async function addFinished(
  engine: Engine,
  bundles: readonly Hash[],
  { items, limit, from }: Listing,
): Promise<ThreadPage> {
  for (const { day, bundle, name } of await listLogs(engine, bundles)) {
    const order = from === undefined || from.day === '' ? 1 : compare({ day, bundle }, from);
    if (order < 0) continue;
    const lines = (await engine.getLog(name))?.lines ?? 0;
    let end = order === 0 ? Math.min(from?.line ?? lines, lines) : lines;
    while (end > 0) {
      const begin = Math.max(0, end - (limit - items.length));
      const texts = await engine.readLog(name, begin, end - begin);
      for (const text of texts.toReversed()) {
        const { threadId: id, head, start, completedAt } = parseHistoryLine(name, text);
        items.push({ id, bundle, state: 'completed', head, start, updatedAt: completedAt });
      }
      end = begin;
      if (items.length >= limit) return { items, cursor: `history.${day}.${bundle}.${end}` };
    }
  }
  return { items };
}

interface DayLog {
  readonly day: string;
  readonly bundle: Hash;
  readonly name: string;
}

async function listLogs(engine: Engine, bundles: readonly Hash[]): Promise<DayLog[]> {
  const logs: DayLog[] = [];
  for (const bundle of bundles) {
    for await (const name of eachHistory(engine, bundle)) {
      logs.push({ day: name.slice(name.lastIndexOf('/') + 1, -'.jsonl'.length), bundle, name });
    }
  }
  return logs.toSorted((a, b) => compare(a, b));
}

/** Sorts the newest day first. */
function compare(
  a: { readonly day: string; readonly bundle: string },
  b: { readonly day: string; readonly bundle: string },
): number {
  if (a.day !== b.day) return a.day < b.day ? 1 : -1;
  if (a.bundle === b.bundle) return 0;
  return a.bundle < b.bundle ? -1 : 1;
}

function parseCursor(text: string): Cursor {
  const [, active] = /^active\.(\d{1,9})$/.exec(text) ?? [];
  if (active !== undefined) return { at: 'active', day: '', bundle: '', line: Number(active) };
  const [, day, bundle, line] =
    /^history\.(\d{4,6}-\d\d-\d\d)?\.([0-9a-f]{64})?\.(\d{1,9})?$/.exec(text) ?? [];
  if (!text.startsWith('history.') || (day === undefined) !== (line === undefined)) {
    throw invalid('cursor', 'is not one that a page of threads came with');
  }
  const at = 'history';
  return {
    at,
    day: day ?? '',
    bundle: bundle ?? '',
    line: line === undefined ? undefined : Number(line),
  };
}
