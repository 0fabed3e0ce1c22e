import { setImmediate, setTimeout } from 'node:timers/promises';
import { isQuipuError } from '../../base/errors.ts';
import { checkLastEventId, LAG_MAX } from './check-input.ts';
import type {
  QueueEvent,
  QueueFollowOptions,
  ConsumerProgress,
  QueueInfo,
  RunningHandler,
} from './queue.ts';

// Looks for events that match. A filter may match none of a million events, so a scan reads one stretch of ids at a
// time, and yields the thread after a turn of one or more stretches. A consumer's bookmark saves looking for the same
// events again. Each round of the event loop has one turn, however many scans run at once: the rest of the process
// waits for no more.

/**
 * The events of one turn. If they are small, that takes some milliseconds. A turn ends with this number, not with a time:
 * scans that go on in step read the same pages, and find them in the cache of the database.
 */
const TURN = 20_000;
/** A turn of events that take longer ends with this time. */
const TURN_MS = 10;
/** An event may have 8 MiB, so a stretch has fewer events if a filter could take more steps. These take about 50 ms. */
export const STRETCH_STEPS = 64_000_000;
/** A bookmark costs a write. Below this number of events, looking again is cheaper. */
export const BOOKMARK_WORTH = 500;

/** The ids after the first number, up to the second. */
export interface IdRange {
  readonly after: number;
  readonly through: number;
}

/** A value at once, or when the database has answered. */
type Soon<T> = T | Promise<T>;

/** A table of events. `F`: the form in which it takes a filter. */
export interface EventReader<F> {
  newestId(): Soon<number>;
  /**
   * The events that match. The reader may leave out those after the event that takes their contents past `maxBytes`.
   */
  matches(
    range: IdRange,
    filter: F | undefined,
    limit: number,
    maxBytes: number,
  ): Soon<Iterable<QueueEvent>>;
  countMatches(range: IdRange, filter: F | undefined, limit: number): Soon<number>;
  /** The first event that matches, if any. */
  firstMatch(range: IdRange, filter: F | undefined): Soon<number | undefined>;
  /** Absent: the database looks for itself, and this process goes on meanwhile. */
  readonly looks?: OwnLooks<F>;
}

/** For a table in this process, where nothing else is done while the table looks at events. */
export interface OwnLooks<F> {
  /**
   * The last event of the range up to which a filter takes at most `steps`. If the first event alone may take more, the
   * number before it.
   */
  within(range: IdRange, filter: F, steps: number): number;
  /** Whether one event matches, found out in small steps with `breathe` between them. Undefined: there is no event. */
  isMatch(id: number, filter: F, breathe: () => Promise<void>): Promise<boolean | undefined>;
}

/** No event after `from_id` up to `to_id` matches the filter of the consumer. */
export interface Bookmark {
  readonly from_id: number;
  readonly to_id: number;
}

/** The id to begin after, for a consumer that has acknowledged `acked`. */
export function startFor(acked: number, bookmark: Bookmark | undefined): number {
  if (bookmark === undefined || acked < bookmark.from_id) return acked;
  return Math.max(acked, bookmark.to_id);
}

interface PageRequest {
  readonly after: number;
  readonly limit: number;
  readonly maxBytes: number;
}

/** Returns up to `limit` events after `after`, fewer when they are large. */
export async function readMatches<F>(
  reader: EventReader<F>,
  filter: F | undefined,
  { after, limit, maxBytes }: PageRequest,
): Promise<QueueEvent[]> {
  const found: QueueEvent[] = [];
  let bytes = 0;
  const ids = { after, through: await reader.newestId() };
  for await (const { range, rest } of stretches(reader, filter, ids)) {
    if (rest === 'none') continue;
    const matches = reader.matches(range, rest.filter, limit - found.length, maxBytes - bytes);
    // Events of a synchronous database are read at once: nothing else may be done with such a database before that.
    for (const event of matches instanceof Promise ? await matches : matches) {
      found.push(event);
      bytes += event.content.length;
      if (bytes > maxBytes) return found;
    }
    if (found.length >= limit) break;
  }
  return found;
}

export async function countMatches<F>(
  reader: EventReader<F>,
  filter: F | undefined,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<number> {
  let count = 0;
  const ids = { after, through: await reader.newestId() };
  for await (const { range, rest } of stretches(reader, filter, ids)) {
    if (rest === 'none') continue;
    count += await reader.countMatches(range, rest.filter, limit - count);
    if (count >= limit) break;
  }
  return count;
}

interface Pending {
  /** The first event that the consumer has to handle. */
  readonly first: number | undefined;
  /** No event up to this id is one to handle. */
  readonly clearTo: number;
  /** False when the scan stopped before the end, with nothing found. */
  readonly isWhole: boolean;
  /** Present when finding out took long. */
  readonly bookmark?: Bookmark;
}

export interface Known {
  readonly acked: number;
  readonly bookmark: Bookmark | undefined;
}

interface Look {
  /** The number of events to look at. */
  readonly reach: number;
  /** The newest event, for a caller that looks for many consumers and has asked once. */
  readonly newest?: number;
}

/** Finds the first event that a consumer has to handle, within reach. */
export async function findPending<F>(
  reader: EventReader<F>,
  filter: F | undefined,
  { acked, bookmark }: Known,
  { reach, newest: known }: Look,
): Promise<Pending> {
  const start = startFor(acked, bookmark);
  const newest = known ?? (await reader.newestId());
  // Without a filter the next event is the one, and finding it costs no scan.
  const end = filter === undefined ? newest : Math.min(newest, start + reach);
  let clearTo = start;
  let first: number | undefined;
  const ids = { after: start, through: end };
  for await (const { range, rest } of stretches(reader, filter, ids)) {
    first = rest === 'none' ? undefined : await reader.firstMatch(range, rest.filter);
    clearTo = first === undefined ? range.through : first - 1;
    if (first !== undefined) break;
  }
  const isWhole = first !== undefined || end >= newest;
  if (clearTo - start < BOOKMARK_WORTH) return { first, clearTo, isWhole };
  return { first, clearTo, isWhole, bookmark: { from_id: acked, to_id: clearTo } };
}

interface Stretch<F> {
  readonly range: IdRange;
  /** What is left to ask of its events. Without a filter, all match. */
  readonly rest: { readonly filter: F | undefined } | 'none';
}

async function* stretches<F>(
  reader: EventReader<F>,
  filter: F | undefined,
  range: IdRange,
): AsyncIterable<Stretch<F>> {
  const length = filter === undefined ? Infinity : TURN;
  let turn = { end: range.after + length, beganMs: performance.now() };
  for (let { after } = range; after < range.through;) {
    if (after >= turn.end || performance.now() - turn.beganMs >= TURN_MS) {
      await nextTurn();
      // A scan whose turn ended early catches up with the others.
      turn = { end: turn.end + length, beganMs: performance.now() };
    }
    let through = Math.min(range.through, turn.end);
    let rest: Stretch<F>['rest'] = { filter };
    if (filter !== undefined && reader.looks !== undefined) {
      through = reader.looks.within({ after, through }, filter, STRETCH_STEPS);
      if (through === after) {
        through = after + 1;
        rest = await lookAt(reader.looks, through, filter);
      }
    }
    yield { range: { after, through }, rest };
    after = through;
  }
}

/** Looks at an event that takes too long for one statement. */
async function lookAt<F>(looks: OwnLooks<F>, id: number, filter: F): Promise<Stretch<F>['rest']> {
  let beganMs = performance.now();
  const isMatch = await looks.isMatch(id, filter, async () => {
    if (performance.now() - beganMs < TURN_MS) return;
    await nextTurn();
    beganMs = performance.now();
  });
  // Asking for a missing event costs nothing, and says that it is missing.
  if (isMatch === undefined) return { filter };
  return isMatch ? { filter: undefined } : 'none';
}

let lastTurn: Promise<unknown> = Promise.resolve();

/** Each turn comes one round of the event loop after the one before it, whichever scan took that one. */
function nextTurn(): Promise<unknown> {
  lastTurn = lastTurn.then(() => setImmediate());
  return lastTurn;
}

/** Without a notification, a follower sees another process's event within this time. */
const POLL_MS = 100;
const PAGE = 100;
/** A follower that is slow holds a page. */
const PAGE_BYTES = 32_768;

/** Resolves with the next news, or by itself after a while. Rejects when aborted. */
type AwaitNews = (signal: AbortSignal | undefined) => Promise<void>;

export interface Followed<F> {
  use<T>(read: (reader: EventReader<F>) => Promise<T>): Promise<T>;
  /** Called before each look: events that come after the call are news. */
  watch(): AwaitNews;
}

/** For queues that send no notification. */
export const poll: AwaitNews = async (signal) => {
  await setTimeout(POLL_MS, undefined, signal === undefined ? {} : { signal });
};

/** Yields events of all processes as they come. One page is in memory at a time. */
export async function* followEvents<F>(
  followed: Followed<F>,
  filter: F | undefined,
  { lastEventId = 0, signal }: QueueFollowOptions,
): AsyncGenerator<QueueEvent, void, undefined> {
  let after = checkLastEventId(lastEventId);
  const isOver = (): boolean => signal?.aborted === true;
  while (!isOver()) {
    const awaitNews = followed.watch();
    const { events, newest } = await followed.use(async (reader) => {
      // This asks first: events that come during the read are read next time.
      const seen = await reader.newestId();
      if (seen <= after) return { events: [], newest: seen };
      const page = { after, limit: PAGE, maxBytes: PAGE_BYTES };
      return { events: await readMatches(reader, filter, page), newest: seen };
    });
    for (const event of events) {
      if (isOver()) return;
      yield event;
      after = event.id;
    }
    if (events.length > 0) continue;
    after = Math.max(after, newest);
    try {
      await awaitNews(signal);
    } catch {
      // The caller aborted.
      return;
    }
  }
}

/** When a queue is closed, its followers end. */
export async function* untilClosed<T>(items: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  try {
    yield* items;
  } catch (error) {
    if (!isQuipuError(error, 'CLOSED')) throw error;
  }
}

/** Everything that a queue keeps of a consumer, apart from what only saves reading. */
export interface ConsumerRow {
  readonly consumer_id: string;
  /** Null: the consumer is not subscribed, and has progress. */
  readonly handler_cmd: string | null;
  readonly filter: string | null;
  readonly last_acked_id: number;
  /** Null: the consumer has not popped yet. */
  readonly updated_at: string | null;
  /** The number of failed runs in a row. */
  readonly failures: number;
  readonly failed: boolean;
  /** Null: the handler did not fail the last time. */
  readonly last_error: string | null;
}

/** What nobody has written down about a consumer. */
interface Seen {
  readonly lag: number | null;
  readonly isRunning: boolean;
  readonly handler?: RunningHandler | undefined;
}

/** Everything known about the consumers of a queue. `look` is not asked for all at once. */
export async function describeConsumers<R extends ConsumerRow>(
  rows: readonly R[],
  look: (row: R) => Promise<Seen>,
): Promise<Pick<QueueInfo, 'subscriptions' | 'progress'>> {
  const progress: ConsumerProgress[] = [];
  for (const row of rows) {
    const { consumer_id, last_acked_id, updated_at, failures, failed, last_error } = row;
    const { lag, isRunning, handler } = await look(row);
    progress.push({
      consumer_id,
      last_acked_id,
      updated_at,
      lag,
      state: failed ? 'failed' : isRunning ? 'running' : 'idle',
      ...(handler !== undefined && { handler }),
      failures,
      last_error,
    });
  }
  const subscriptions = rows.flatMap(({ consumer_id, handler_cmd, filter }) =>
    handler_cmd === null ? [] : [{ consumer_id, handler_cmd, filter }],
  );
  return { subscriptions, progress };
}

/** The number of events that a subscribed consumer has to handle. */
export function countLag<F>(
  events: EventReader<F>,
  filter: F | undefined,
  { acked, bookmark }: Known,
): Promise<number> {
  return countMatches(events, filter, { after: startFor(acked, bookmark), limit: LAG_MAX });
}
