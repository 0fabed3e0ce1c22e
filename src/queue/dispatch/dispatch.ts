import { spawn, type ChildProcess } from 'node:child_process';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { programFile } from '../../base/program-file.ts';
import type { DispatchReport, Subscription } from '../events/queue.ts';
import { findPending, type Bookmark } from '../events/scan.ts';
import type { QueueFolder } from '../sqlite/queue-folder.ts';
import { compileStored, type QueueDatabase } from '../sqlite/queue-database.ts';
import { failure, info, type LogLine, type RuntimeLog } from '../sqlite/runtime-log.ts';
import { forgetAsked, isHeld, newToken, readLock, writeLock } from './consumer-lock.ts';
import { markOfChild } from './run-handler.ts';

export interface DispatchedQueue {
  readonly folder: QueueFolder;
  readonly database: QueueDatabase;
  readonly log: RuntimeLog;
  /** The program of the supervisor. */
  readonly supervisor: string;
}

/** The program is beside this file, in the built package. */
export const SUPERVISOR: string = fileURLToPath(programFile('queue/dispatch/supervisor-main.js'));

/**
 * The number of events past its bookmark that a dispatch looks at for one consumer; this takes half a millisecond. If a
 * consumer has no match among them and more events behind, the supervisor looks further, because it has the time.
 */
const REACH = 1000;

/** The result of a dispatch's look at one consumer. */
interface Look {
  readonly subscription: Subscription;
  /** `far`: nothing within reach, and more events behind it. */
  readonly found: 'due' | 'far' | 'nothing';
  readonly bookmark?: Bookmark;
  /** The reason why the consumer cannot be served. */
  readonly trouble?: string;
}

/**
 * Starts a supervisor for all consumers that have events to handle and no handler running, and for those that may have
 * some further on. This function returns when the supervisor has its locks, and does not wait for handlers. Its own
 * work is bounded: it does not grow with the events that nobody has looked at yet.
 */
export async function dispatch(queue: DispatchedQueue): Promise<DispatchReport> {
  const { database, log } = queue;
  // This comes before the look: a process that pushes after it asks for the next dispatch.
  forgetAsked(queue.folder);
  const newest = database.newestId();
  const looks: Look[] = [];
  for (const subscription of database.subscriptions()) {
    const seen = await look(database, subscription, newest);
    if (seen.bookmark !== undefined) await setImmediate();
    looks.push(seen);
  }
  keepBookmarks(database, looks);
  const wanted = looks.filter(({ found }) => found !== 'nothing').map(nameOf);
  const taken = wanted.length === 0 ? [] : startSupervisor(queue, wanted);
  const started: string[] = [];
  const skipped: { consumer: string; reason: string }[] = [];
  const lines: LogLine[] = [];
  for (const seen of looks) {
    const consumer = nameOf(seen);
    const isTaken = taken.includes(consumer);
    const reason = whySkipped(seen, isTaken);
    if (reason !== undefined) {
      skipped.push({ consumer, reason });
      const named = `dispatch: consumer=${consumer}`;
      if (seen.trouble !== undefined) lines.push(failure(`${named} error: ${reason}`));
      else lines.push(info(isTaken ? `${named} ${reason}` : `${named} skipped (${reason})`));
    } else if (seen.found === 'due') started.push(consumer);
  }
  log.write(...lines);
  return { started, skipped };
}

function nameOf({ subscription }: Look): string {
  return subscription.consumer_id;
}

/** A consumer that cannot be served does not stop the others. */
async function look(
  database: QueueDatabase,
  subscription: Subscription,
  newest: number,
): Promise<Look> {
  try {
    const filter = compileStored(subscription);
    const known = database.known(subscription.consumer_id);
    const seen = await findPending(database, filter, known, { reach: REACH, newest });
    const { first, isWhole, bookmark } = seen;
    const found = first !== undefined ? 'due' : isWhole ? 'nothing' : 'far';
    return { subscription, found, ...(bookmark !== undefined && { bookmark }) };
  } catch (error) {
    return { subscription, found: 'nothing', trouble: (error as Error).message };
  }
}

/**
 * Writes all bookmarks in one transaction: a sync of the disk for each of many consumers would take longer than
 * looking.
 */
function keepBookmarks(database: QueueDatabase, looks: readonly Look[]): void {
  const writes = looks.flatMap(({ subscription, bookmark }) =>
    bookmark === undefined ? [] : [() => database.setBookmark(subscription, bookmark)],
  );
  if (writes.length > 0) database.exclusively(() => writes.forEach((write) => write()));
}

function whySkipped({ found, trouble }: Look, isTaken: boolean): string | undefined {
  if (trouble !== undefined) return trouble;
  if (found === 'nothing') return undefined;
  if (!isTaken) return 'lock held';
  return found === 'far' ? 'looking further in the background' : undefined;
}

/** Returns the consumers whose locks were free. Their locks name the new process before anyone else can look. */
function startSupervisor(
  { folder, database, supervisor }: DispatchedQueue,
  wanted: readonly string[],
): string[] {
  return database.exclusively(() => {
    const notes = wanted.map((consumer) => ({ consumer, note: readLock(folder, consumer) }));
    const free = notes.filter(({ note }) => !isHeld(note));
    if (free.length === 0) return [];
    const token = newToken();
    const consumers = free.map(({ consumer }) => consumer);
    const child = startDetached(supervisor, [folder.path, token, ...consumers]);
    const mark = child.pid === undefined ? undefined : markOfChild(child.pid);
    if (mark === undefined) return [];
    for (const { consumer, note } of free) {
      const orphan = note?.handler;
      writeLock(folder, consumer, { token, supervisor: mark, ...(orphan && { handler: orphan }) });
    }
    return consumers;
  });
}

function startDetached(program: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [program, ...args], { detached: true, stdio: 'ignore' });
  // Without a pid no process was started, and the locks stay free for the next dispatch.
  child.on('error', () => undefined);
  child.unref();
  return child;
}
