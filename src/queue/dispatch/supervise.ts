import { setTimeout } from 'node:timers/promises';
import type { Subscription } from '../events/queue.ts';
import { findPending } from '../events/scan.ts';
import type { QueueFolder } from '../sqlite/queue-folder.ts';
import { compileStored, type QueueDatabase } from '../sqlite/queue-database.ts';
import { failure, info, warn, type RuntimeLog } from '../sqlite/runtime-log.ts';
import { readLock, removeLock, writeLock, type LockNote } from './consumer-lock.ts';
import {
  afterFailure,
  isGroupRunning,
  runHandler,
  type HandlerEnd,
  type RetryPolicy,
} from './run-handler.ts';

// Runs the handler of one consumer for as long as there is something to do.
// Invariants
// - The supervisor holds the consumer's lock from before the first run to after the last, so no handler runs twice at
//   once.
// - The supervisor releases the lock in the same exclusive step in which it finds nothing to do. An event is committed
//   before that step, and then the step finds it, or after it, and then the dispatch for it finds the lock free. So no
//   wake-up is lost between the two.

const ORPHAN_POLL_MS = 100;
/**
 * The number of events looked at between two bookmarks, about a tenth of a second: each bookmark costs a sync of the
 * disk.
 */
const REACH = 200_000;

export interface SupervisedQueue {
  readonly folder: QueueFolder;
  readonly database: QueueDatabase;
  readonly log: RuntimeLog;
  readonly retry: RetryPolicy;
  readonly clock: () => number;
}

/**
 * `token`: of the lock that was taken for this consumer. `orphan`: a handler that an earlier supervisor left running.
 */
export async function superviseConsumer(
  queue: SupervisedQueue,
  consumer: string,
  { token, orphan }: { readonly token: string; readonly orphan?: LockNote['handler'] },
): Promise<void> {
  const { database, log } = queue;
  try {
    if (orphan !== undefined) {
      while (isGroupRunning(orphan)) await setTimeout(ORPHAN_POLL_MS);
    }
    // The dispatch that started this supervisor may not have looked far enough to know.
    if (!(await goesOn(queue, consumer, { token, progressed: true, newestBefore: 0 }))) return;
    for (;;) {
      const subscription = database.subscription(consumer);
      if (subscription === undefined) break;
      const round = await runOnce(queue, subscription, token);
      if (round.end.ok) {
        if (database.failure(consumer) !== undefined) database.clearFailure(consumer);
        if (await goesOn(queue, consumer, { token, ...round })) continue;
        return;
      }
      const retryInMs = noteFailure(queue, consumer, round);
      if (retryInMs === null) break;
      await setTimeout(retryInMs);
    }
    database.exclusively(() => release(queue, consumer, token));
  } catch (error) {
    log.write(failure(`dispatch: consumer=${consumer} error: ${(error as Error).message}`));
    try {
      release(queue, consumer, token);
    } catch {
      // The lock counts for nothing once this process is gone.
    }
  }
}

interface Round {
  readonly end: HandlerEnd;
  /** The handler acknowledged something. */
  readonly progressed: boolean;
  /** The newest event when the run began. */
  readonly newestBefore: number;
}

async function runOnce(
  { folder, database, log, clock }: SupervisedQueue,
  subscription: Subscription,
  token: string,
): Promise<Round> {
  const { consumer_id, handler_cmd } = subscription;
  const newestBefore = database.newestId();
  const ackedBefore = database.known(consumer_id).acked;
  const named = `dispatch: consumer=${consumer_id}`;
  const env = { THREAD_DIR: folder.path, THREAD_CONSUMER: consumer_id };
  const run = { command: handler_cmd, folder: folder.path, env };
  const end = await runHandler(run, (mark) => {
    const note = readLock(folder, consumer_id);
    const handler = { ...mark, since: new Date(clock()).toISOString() };
    if (note?.token === token) writeLock(folder, consumer_id, { ...note, handler });
    log.write(info(`${named} spawned handler_cmd=${JSON.stringify(handler_cmd)}`));
  });
  const progressed = database.known(consumer_id).acked !== ackedBefore;
  if (end.ok) log.write(info(`${named} handler ended: ${end.how}`));
  return { end, progressed, newestBefore };
}

/**
 * Returns whether there is a reason to run the handler, and releases the lock when there is none. Looking may take
 * long, so it happens before the exclusive step, and bookmarks on the way save looking twice.
 */
async function goesOn(
  queue: SupervisedQueue,
  consumer: string,
  { token, progressed, newestBefore }: Omit<Round, 'end'> & { readonly token: string },
): Promise<boolean> {
  const { database } = queue;
  const letGo = (): false => {
    release(queue, consumer, token);
    return false;
  };
  for (;;) {
    const subscription = database.subscription(consumer);
    if (subscription === undefined) return database.exclusively(letGo);
    const filter = compileStored(subscription);
    const known = database.known(consumer);
    const seen = await findPending(database, filter, known, { reach: REACH });
    const answer = database.exclusively(() => {
      if (seen.bookmark !== undefined) database.setBookmark(subscription, seen.bookmark);
      if (!seen.isWhole) return undefined;
      // Without progress the same events would come again at once, and for ever. New events are a reason to run.
      const after = progressed ? seen.clearTo : Math.max(seen.clearTo, newestBefore);
      const isDue = database.firstMatch({ after, through: database.newestId() }, filter);
      return isDue !== undefined || letGo();
    });
    if (answer !== undefined) return answer;
  }
}

/** Returns the time to wait before the next run. Null: the consumer is marked failed. */
function noteFailure(
  { database, log, retry, clock }: SupervisedQueue,
  consumer_id: string,
  { end, progressed }: Round,
): number | null {
  const before = database.failure(consumer_id) ?? { failures: 0, failed: false };
  const run = afterFailure(end, before, progressed, retry);
  const { failures, failed, lastError: last_error, retryInMs, text } = run;
  const at = new Date(clock()).toISOString();
  database.setFailure({ consumer_id, failures, failed, last_error }, at);
  log.write(warn(`dispatch: consumer=${consumer_id} handler failed (${failures}): ${text}`));
  return retryInMs;
}

/** Removes the lock only while it is still this supervisor's own. */
function release({ folder }: SupervisedQueue, consumer: string, token: string): void {
  if (readLock(folder, consumer)?.token === token) removeLock(folder, consumer);
}
