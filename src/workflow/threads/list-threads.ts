import { toHash, type Hash } from '../../base/brand.ts';
import { checkWhole } from '../../base/check-value.ts';
import { invalid, orNothing } from '../../base/errors.ts';
import type { Engine, TimeRange } from '../../engine/engine.ts';
import { eachBundle, noteDoc, dayOf, eachHistory } from '../home/documents.ts';
import { readStart, readState, readText } from '../home/nodes.ts';
import { LIST_DEFAULT, LIST_MAX } from '../home/workflows-home.ts';
import { readIndex, parseNote, parseHistoryLine, type HistoryLine } from './thread-docs.ts';
import type { Thread, ListThreads, ThreadPage, ThreadDetails } from './workflows.ts';

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
  const bundles = options.bundle === undefined ? [] : [toHash(options.bundle, 'bundle')];
  if (options.bundle === undefined) {
    for await (const bundle of eachBundle(engine)) bundles.push(bundle);
  }
  const range = checkRange(options);
  const from = cursor === undefined ? { active: 0, after: undefined } : parseCursor(cursor);
  const items: Thread[] = [];
  if (state !== 'completed' && from.active !== undefined) {
    const active = (await listActive(engine, bundles)).filter(({ updatedAt }) =>
      isWithin(updatedAt, range),
    );
    items.push(...active.slice(from.active, from.active + limit));
    const end = from.active + items.length;
    if (end < active.length) return { items, cursor: `active.${end}` };
  }
  if (state === 'active') return { items };
  if (items.length === limit) return { items, cursor: ALL_ACTIVE };
  const query = { bundles, range, after: from.after };
  for await (const { at, bundle, thread, line } of walkHistory(engine, query)) {
    const { head, start, completedAt: updatedAt } = line;
    items.push({ id: line.threadId, bundle, state: 'completed', head, start, updatedAt });
    if (items.length === limit) return { items, cursor: `history.${at}.${bundle}.${thread}` };
  }
  return { items };
}

type Range = Required<TimeRange>;

function checkRange({ since, until }: ListThreads): Range {
  return {
    since: since === undefined ? 0 : checkTime(since, 'since'),
    until: until === undefined ? Infinity : checkTime(until, 'until'),
  };
}

function checkTime(given: number | Date, what: string): number {
  const time = given instanceof Date ? given.getTime() : given;
  return checkWhole(time, what, 0, TIME_MAX);
}

function isWithin(time: number, { since, until }: Range): boolean {
  return time >= since && time < until;
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

// Finished threads of any number of bundles, the last one to end first. Each bundle has a log for each day, in which
// lines are in the order of ending. A day is read from the ends of its logs, always the log with the latest line.
// Memory: a few lines of each log of one day. A page reads the lines of its first day that earlier pages gave, again.

/** The lines of a log that are held at a time. */
const LINES_AT_ONCE = 32;

/** The place of a thread in the list. */
interface HistoryPlace {
  readonly at: number;
  readonly bundle: string;
  readonly thread: string;
}

interface Finished extends HistoryPlace {
  readonly bundle: Hash;
  readonly line: HistoryLine;
}

interface HistoryQuery {
  readonly bundles: readonly Hash[];
  /** Only threads that ended in this range. */
  readonly range: Range;
  /** Only threads behind this one. */
  readonly after: HistoryPlace | undefined;
}

async function* walkHistory(
  engine: Engine,
  { bundles, range, after }: HistoryQuery,
): AsyncGenerator<Finished, void, undefined> {
  const logs = await listLogs(engine, bundles);
  const newest = Math.min(range.until, after?.at ?? Infinity);
  const newestDay = newest === Infinity ? undefined : dayOf(newest);
  const days = [...new Set(logs.map(({ day }) => day))].toSorted().toReversed();
  for (const day of days) {
    if (newestDay !== undefined && day > newestDay) continue;
    if (day < dayOf(range.since)) return;
    const ofDay = logs.filter((log) => log.day === day);
    for await (const finished of mergeLogs(engine, ofDay, after)) {
      if (isWithin(finished.line.completedAt, range)) yield finished;
    }
  }
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

const KILLED = 130;
/** The beginning of a prompt that a list shows. */
const PROMPT_CHARS = 200;

/** The beginning of a summary that a list shows: a page has thousands of threads. */
const SUMMARY_CHARS = 1000;

/** A prompt may have 8 MiB, and is read as a whole. */
const THREADS_AT_ONCE = 8;

/** For a list: with the beginnings of the prompts. */
export async function describeThreads(
  engine: Engine,
  threads: readonly Thread[],
): Promise<ThreadDetails[]> {
  const described: ThreadDetails[] = [];
  for (let at = 0; at < threads.length; at += THREADS_AT_ONCE) {
    const some = threads.slice(at, at + THREADS_AT_ONCE);
    const reads = some.map((thread) => describeThread(engine, thread, { wholePrompt: false }));
    described.push(...(await Promise.all(reads)));
  }
  return described;
}

/** Adds the facts that stand in the nodes of a thread. A node that is missing or damaged leaves its facts out. */
export async function describeThread(
  engine: Engine,
  thread: Thread,
  { wholePrompt }: { readonly wholePrompt: boolean },
): Promise<ThreadDetails> {
  const [begun, ended] = await Promise.all([
    unlessLost(() => readBegun(engine, thread)),
    thread.state === 'completed' ? unlessLost(() => readEnded(engine, thread)) : undefined,
  ]);
  const show = (text: string, maxChars: number): string =>
    wholePrompt ? text : cut(text, maxChars);
  return {
    ...thread,
    ...(begun !== undefined && { name: begun.name }),
    ...(begun?.prompt !== undefined && { prompt: show(begun.prompt, PROMPT_CHARS) }),
    ...ended,
    ...(ended?.summary !== undefined && { summary: show(ended.summary, SUMMARY_CHARS) }),
  };
}

/** No half of a character is left at the end. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return `${text.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

async function readBegun(
  engine: Engine,
  { start }: Thread,
): Promise<{ readonly name: string; readonly prompt?: string }> {
  const { payload, refs } = await readStart(engine, start);
  const prompt = await unlessLost(() => readText(engine, refs[0], 'prompt'));
  return { name: payload.name, ...(prompt !== undefined && { prompt }) };
}

async function readEnded(
  engine: Engine,
  { head }: Thread,
): Promise<Pick<ThreadDetails, 'outcome' | 'returnCode' | 'summary'>> {
  const { returnCode, summary } = (await readState(engine, head)).payload.meta;
  return {
    ...(typeof returnCode === 'number' && { returnCode, outcome: toOutcome(returnCode) }),
    ...(typeof summary === 'string' && { summary }),
  };
}

function toOutcome(returnCode: number): NonNullable<ThreadDetails['outcome']> {
  if (returnCode === KILLED) return 'killed';
  return returnCode === 0 ? 'completed' : 'failed';
}

function unlessLost<T>(read: () => Promise<T>): Promise<T | undefined> {
  return orNothing(read, 'NOT_FOUND', 'CORRUPT');
}
