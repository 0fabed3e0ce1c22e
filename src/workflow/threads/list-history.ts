import type { Hash } from '../../base/brand.ts';
import type { Engine, TimeRange } from '../../engine/engine.ts';
import { dayOf, eachHistory } from '../home/documents.ts';
import { parseHistoryLine, type HistoryLine } from './thread-docs.ts';

// Finished threads of any number of bundles, the last one to end first. Each bundle has a log for each day, in which
// lines are in the order of ending. A day is read from the ends of its logs, always the log with the latest line.
// Memory: a few lines of each log of one day. A page reads the lines of its first day that earlier pages gave, again.

/** The lines of a log that are held at a time. */
const LINES_AT_ONCE = 32;

/** The place of a thread in the list. */
export interface HistoryPlace {
  readonly at: number;
  readonly bundle: string;
  readonly thread: string;
}

export interface Finished extends HistoryPlace {
  readonly bundle: Hash;
  readonly line: HistoryLine;
}

export interface HistoryQuery {
  readonly bundles: readonly Hash[];
  /** Only threads that ended in this range. */
  readonly range: TimeRange;
  /** Only threads behind this one. */
  readonly after: HistoryPlace | undefined;
}

export async function* walkHistory(
  engine: Engine,
  { bundles, range, after }: HistoryQuery,
): AsyncGenerator<Finished, void, undefined> {
  const { since = 0, until = Infinity } = range;
  const logs = await listLogs(engine, bundles);
  const days = [...new Set(logs.map(({ day }) => day))].toSorted(newestDayFirst);
  for (const day of days) {
    if (isLater(day, Math.min(until, after?.at ?? Infinity))) continue;
    if (day < dayOf(since)) return;
    const ofDay = logs.filter((log) => log.day === day);
    for await (const finished of mergeLogs(engine, ofDay, after)) {
      const { completedAt } = finished.line;
      if (completedAt >= since && completedAt < until) yield finished;
    }
  }
}

/** True for a day after the one of `time`. */
function isLater(day: string, time: number): boolean {
  return time !== Infinity && day > dayOf(time);
}

function newestDayFirst(a: string, b: string): number {
  return a < b ? 1 : -1;
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
  return logs;
}

async function* mergeLogs(
  engine: Engine,
  logs: readonly DayLog[],
  after: HistoryPlace | undefined,
): AsyncGenerator<Finished, void, undefined> {
  const sources: { readonly lines: AsyncGenerator<Finished, void, undefined>; next: Finished }[] =
    [];
  for (const log of logs) {
    const lines = readBack(engine, log, after);
    const { value, done } = await lines.next();
    if (done !== true) sources.push({ lines, next: value });
  }
  while (sources.length > 0) {
    const first = sources.reduce((best, one) => (isBefore(one.next, best.next) ? one : best));
    yield first.next;
    const { value, done } = await first.lines.next();
    if (done === true) sources.splice(sources.indexOf(first), 1);
    else first.next = value;
  }
}

function isBefore(a: HistoryPlace, b: HistoryPlace): boolean {
  return a.at === b.at ? a.bundle < b.bundle : a.at > b.at;
}

/**
 * The lines of a log behind a place, the last one first. Times never rise on the way, also where a clock was set back:
 * a line then counts as of the time of the lines after it.
 */
async function* readBack(
  engine: Engine,
  { bundle, name }: DayLog,
  after: HistoryPlace | undefined,
): AsyncGenerator<Finished, void, undefined> {
  let at = Infinity;
  let isPast = after === undefined;
  /** Lines of the same time as the place, until the one at the place is found. */
  let held: Finished[] = [];
  let end = (await engine.getLog(name))?.lines ?? 0;
  while (end > 0) {
    const begin = Math.max(0, end - LINES_AT_ONCE);
    const texts = await engine.readLog(name, begin, end - begin);
    for (const text of texts.toReversed()) {
      const line = parseHistoryLine(name, text);
      at = Math.min(at, line.completedAt);
      const finished = { at, bundle, thread: line.threadId, line };
      if (isPast || after === undefined) yield finished;
      else if (isAt(finished, after)) {
        isPast = true;
        held = [];
      } else if (isBefore(after, finished)) {
        isPast = true;
        // The thread at the place was removed: those of its time come again rather than not at all.
        yield* held;
        held = [];
        yield finished;
      } else if (at === after.at && bundle === after.bundle) held.push(finished);
    }
    end = begin;
  }
  yield* held;
}

function isAt(a: HistoryPlace, b: HistoryPlace): boolean {
  return a.at === b.at && a.bundle === b.bundle && a.thread === b.thread;
}
