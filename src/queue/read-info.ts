import type { QueueFolder } from './folder.ts';
import { isHeld, readLock } from './dispatch/consumer-lock.ts';
import type { LockNote } from './dispatch/consumer-lock.ts';
import { isGroupRunning } from './dispatch/process-life.ts';
import { LAG_MAX } from './limits.ts';
import type { ConsumerProgress, QueueInfo, RunningHandler, Subscription } from './queue.ts';
import { countMatches, startFor } from './scan.ts';
import { compileStored } from './sqlite/queue-database.ts';
import type { FailureRow, ProgressRow, QueueDatabase } from './sqlite/queue-database.ts';

/** Everything known about a queue. */
export async function readInfo(folder: QueueFolder, database: QueueDatabase): Promise<QueueInfo> {
  const subscriptions = database.subscriptions();
  const rows = new Map(database.progress().map((row) => [row.consumer_id, row]));
  const failures = new Map(database.failures().map((row) => [row.consumer_id, row]));
  const known = new Map(subscriptions.map((row) => [row.consumer_id, row]));
  const progress: ConsumerProgress[] = [];
  for (const consumer of [...new Set([...known.keys(), ...rows.keys()])].toSorted()) {
    const lag = await lagOf(database, known.get(consumer));
    const facts = { row: rows.get(consumer), failure: failures.get(consumer), lag };
    progress.push(toProgress(folder, consumer, facts));
  }
  return {
    thread: folder.path,
    event_count: database.countEvents(),
    last_event_id: database.newestId(),
    subscriptions,
    progress,
  };
}

async function lagOf(
  database: QueueDatabase,
  subscription: Subscription | undefined,
): Promise<number | null> {
  if (subscription === undefined) return null;
  const { consumer_id } = subscription;
  const after = startFor(database.acked(consumer_id), database.bookmark(consumer_id));
  try {
    return await countMatches(database, compileStored(subscription), { after, limit: LAG_MAX });
  } catch {
    // A filter that cannot be read counts nothing; pop and dispatch report it.
    return null;
  }
}

function toProgress(
  folder: QueueFolder,
  consumer_id: string,
  {
    row,
    failure,
    lag,
  }: {
    readonly row: ProgressRow | undefined;
    readonly failure: FailureRow | undefined;
    readonly lag: number | null;
  },
): ConsumerProgress {
  const note = readLock(folder, consumer_id);
  const handler = runningHandler(note);
  const isRunning = isHeld(note) || handler !== undefined;
  return {
    consumer_id,
    last_acked_id: row?.last_acked_id ?? 0,
    updated_at: row?.updated_at ?? null,
    lag,
    state: failure?.failed === 1 ? 'failed' : isRunning ? 'running' : 'idle',
    ...(handler !== undefined && { handler }),
    failures: failure?.failures ?? 0,
    last_error: failure?.last_error ?? null,
  };
}

/** Also finds a handler whose supervisor was killed. */
function runningHandler(note: LockNote | undefined): RunningHandler | undefined {
  if (note?.handler === undefined || !isGroupRunning(note.handler)) return undefined;
  return { pid: note.handler.pid, since: note.handler.since };
}
