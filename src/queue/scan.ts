import { setImmediate } from 'node:timers/promises';
import type { CompiledFilter } from './filter/compile-filter.ts';
import type { QueueEvent, Subscription } from './queue.ts';
import type { BookmarkRow, QueueDatabase } from './sqlite/queue-database.ts';

// Looking for events that match. A filter may match none of a million, so it looks at a stretch of ids at a time and lets
// others have the thread in between, and a consumer's bookmark keeps what was found from being looked for again.

/** About 10 ms of looking. */
const STRETCH = 20_000;
/** A bookmark costs a write; below this, looking again is cheaper. */
export const BOOKMARK_WORTH = 500;

/** Where to begin for a consumer that has acknowledged `acked`. */
export function startFor(acked: number, bookmark: BookmarkRow | undefined): number {
  if (bookmark === undefined || acked < bookmark.from_id) return acked;
  return Math.max(acked, bookmark.to_id);
}

export interface PageRequest {
  readonly after: number;
  readonly limit: number;
  readonly maxBytes: number;
}

/** Up to `limit` events after `after`, less when they are large. */
export async function readMatches(
  database: QueueDatabase,
  filter: CompiledFilter | undefined,
  { after, limit, maxBytes }: PageRequest,
): Promise<QueueEvent[]> {
  const found: QueueEvent[] = [];
  let bytes = 0;
  for await (const range of stretches(database, after, filter !== undefined)) {
    for (const event of database.matches(range, filter, limit - found.length)) {
      found.push(event);
      bytes += event.content.length;
      if (bytes > maxBytes) return found;
    }
    if (found.length >= limit) break;
  }
  return found;
}

export async function countMatches(
  database: QueueDatabase,
  filter: CompiledFilter | undefined,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<number> {
  let count = 0;
  for await (const range of stretches(database, after, filter !== undefined)) {
    count += database.countMatches(range, filter, limit - count);
    if (count >= limit) break;
  }
  return count;
}

export interface Pending {
  /** The first event that the consumer has to handle. */
  readonly first: number | undefined;
  /** None of those up to here is one. */
  readonly clearTo: number;
  /** False when it stopped looking before the end. */
  readonly isWhole: boolean;
  /** When it took long to find out. */
  readonly bookmark?: BookmarkRow;
}

/** What a consumer has to handle. */
export async function findPending(
  database: QueueDatabase,
  subscription: Subscription,
  filter: CompiledFilter | undefined,
  stretchesMax: number = Infinity,
): Promise<Pending> {
  const acked = database.acked(subscription.consumer_id);
  const start = startFor(acked, database.bookmark(subscription.consumer_id));
  let clearTo = start;
  let first: number | undefined;
  let looked = 0;
  let isWhole = true;
  for await (const range of stretches(database, start, filter !== undefined)) {
    isWhole = looked < stretchesMax;
    if (!isWhole) break;
    looked += 1;
    first = database.firstMatch(range, filter);
    clearTo = first === undefined ? range.through : first - 1;
    if (first !== undefined) break;
  }
  if (clearTo - start < BOOKMARK_WORTH) return { first, clearTo, isWhole };
  return { first, clearTo, isWhole, bookmark: { from_id: acked, to_id: clearTo } };
}

async function* stretches(
  database: QueueDatabase,
  after: number,
  filtered: boolean,
): AsyncIterable<{ after: number; through: number }> {
  const newest = database.newestId();
  if (!filtered) {
    yield { after, through: newest };
    return;
  }
  for (let from = after; from < newest; from += STRETCH) {
    if (from > after) await setImmediate();
    yield { after: from, through: Math.min(newest, from + STRETCH) };
  }
}
