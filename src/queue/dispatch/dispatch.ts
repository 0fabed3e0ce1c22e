import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { failure, info } from '../files/runtime-log.ts';
import type { LogLine, RuntimeLog } from '../files/runtime-log.ts';
import type { QueueFolder } from '../folder.ts';
import type { DispatchReport, Subscription } from '../queue.ts';
import { findPending } from '../scan.ts';
import { compileStored } from '../sqlite/queue-database.ts';
import type { QueueDatabase } from '../sqlite/queue-database.ts';
import { isHeld, newToken, readLock, writeLock } from './consumer-lock.ts';
import { markOfChild } from './process-life.ts';

export interface DispatchWorld {
  readonly folder: QueueFolder;
  readonly database: QueueDatabase;
  readonly log: RuntimeLog;
  /** The program of the supervisor. */
  readonly supervisor: string;
}

/** Beside this file, in the built package. */
export const SUPERVISOR: string = fileURLToPath(new URL('./supervisor-main.js', import.meta.url));

/**
 * Starts a supervisor for all consumers that have events to handle and no handler running. It returns when
 * the supervisor has its locks, without waiting for handlers. Those who have to look far for an event of theirs
 * come after those who have not.
 */
export async function dispatch(world: DispatchWorld): Promise<DispatchReport> {
  const near = await dispatchSome(world, world.database.subscriptions(), 1);
  if (near.undecided.length === 0) return near.report;
  const far = await dispatchSome(world, near.undecided, Infinity);
  return {
    started: [...near.report.started, ...far.report.started],
    skipped: [...near.report.skipped, ...far.report.skipped],
  };
}

async function dispatchSome(
  world: DispatchWorld,
  subscriptions: readonly Subscription[],
  stretchesMax: number,
): Promise<{ report: DispatchReport; undecided: Subscription[] }> {
  const { database, log } = world;
  const due: string[] = [];
  const undecided: Subscription[] = [];
  const skipped: { consumer: string; reason: string }[] = [];
  const lines: LogLine[] = [];
  for (const subscription of subscriptions) {
    const consumer = subscription.consumer_id;
    try {
      const filter = compileStored(subscription);
      const found = await findPending(database, subscription, filter, stretchesMax);
      // At once: whoever dispatches next need not look again, also when this one does not come to its end.
      if (found.bookmark !== undefined) database.setBookmark(subscription, found.bookmark);
      if (found.first !== undefined) due.push(consumer);
      else if (!found.isWhole) undecided.push(subscription);
    } catch (error) {
      // One consumer that cannot be served does not stop the others.
      const reason = (error as Error).message;
      skipped.push({ consumer, reason });
      lines.push(failure(`dispatch: consumer=${consumer} error: ${reason}`));
    }
  }
  const started = due.length === 0 ? [] : startSupervisor(world, due);
  for (const consumer of due) {
    if (started.includes(consumer)) continue;
    skipped.push({ consumer, reason: 'lock held' });
    lines.push(info(`dispatch: consumer=${consumer} skipped (lock held)`));
  }
  log.write(...lines);
  return { report: { started, skipped }, undecided };
}

/** The consumers whose locks were free. Their locks name the new process before anyone else can look. */
function startSupervisor({ folder, database, supervisor }: DispatchWorld, due: string[]): string[] {
  return database.exclusively(() => {
    const notes = due.map((consumer) => ({ consumer, note: readLock(folder, consumer) }));
    const free = notes.filter(({ note }) => !isHeld(note));
    if (free.length === 0) return [];
    const token = newToken();
    const consumers = free.map(({ consumer }) => consumer);
    const child = startDetached(supervisor, [folder.path, token, ...consumers]);
    const mark = child.pid === undefined ? undefined : markOfChild(child.pid);
    if (mark === undefined) return [];
    for (const { consumer, note } of free) {
      const orphan = note?.handler;
      writeLock(folder, consumer, {
        token,
        supervisor: mark,
        ...(orphan !== undefined && { handler: orphan }),
      });
    }
    return consumers;
  });
}

function startDetached(program: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [program, ...args], { detached: true, stdio: 'ignore' });
  // Without a pid nothing was started, and the locks stay free for the next dispatch.
  child.on('error', () => undefined);
  child.unref();
  return child;
}
