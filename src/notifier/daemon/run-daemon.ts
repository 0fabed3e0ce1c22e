import * as fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeExclusiveLock } from '../../engine/files/disk/owner-lock.ts';
import {
  spoolFile,
  dropStopRequest,
  isStopFor,
  isStopRequested,
  writeDaemonNote,
} from '../spool/home.ts';
import type { Spool } from '../spool/spool.ts';
import { Daemon, type DaemonOptions, type Log } from './daemon.ts';
import { killGroup, startCommand } from './run-command.ts';
import { timeAfter } from './cron.ts';
import type { Run } from '../spool/records.ts';

export interface DaemonSetup extends DaemonOptions {
  readonly spool: Spool;
  readonly log: Log;
  /**
   * The time at which this daemon was asked for. A later stop request is meant for it, also while it is still starting.
   */
  readonly askedAt: number;
  /** The time to wait for another daemon that is about to leave. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly now: () => number;
}

/** Longer than a process that asks whether a daemon is there holds the lock. */
const GLANCE_MS = 50;

/** Serves a spool until it is idle or the daemon is told to stop. `taken`: another daemon serves it. */
export async function runDaemon(setup: DaemonSetup): Promise<'taken' | 'idle' | 'stopped'> {
  const { spool, log } = setup;
  let { waitMs } = setup;
  for (;;) {
    const unlock = takeExclusiveLock(spoolFile(spool.home, 'lock'), waitMs);
    if (unlock === undefined) return 'taken';
    let end: 'idle' | 'stopped';
    try {
      end = await serve(setup);
      log(`daemon: leaves, ${end}`);
    } finally {
      fs.rmSync(spoolFile(spool.home, 'daemon'), { force: true });
      unlock();
    }
    if (end === 'stopped') return end;
    // A process that added a task after the last look may have found the lock still taken, and relies on this daemon.
    if (!(await hasWork(spool, setup.now()))) return end;
    waitMs = GLANCE_MS;
  }
}

async function hasWork(spool: Spool, nowMs: number): Promise<boolean> {
  if ((await spool.listIds('pending')).length > 0) return true;
  return (await spool.listTimers()).some((timer) => timeAfter(timer, nowMs) !== undefined);
}

async function serve(setup: DaemonSetup): Promise<'idle' | 'stopped'> {
  const { spool, log, now, signal, graceMs } = setup;
  if (isStopFor(spool.home, setup.askedAt)) return 'stopped';
  // The stop request was meant for the daemon before. A process that asks for a stop while the lock is taken checks
  // whether its request is still there.
  dropStopRequest(spool.home);
  writeDaemonNote(spool.home, { since: now(), limit: setup.limit, idleMs: setup.idleMs });
  log(`daemon: began as process ${process.pid}`);
  await spool.sweep();
  const interrupted = await findInterrupted(spool, graceMs);
  if (interrupted.length > 0) log(`daemon: runs again: ${interrupted.join(' ')}`);

  const isOurs = watchOwnership(spool.home);
  const daemon = new Daemon(
    {
      spool,
      log,
      now,
      start: startCommand,
      // The caller of the daemon keeps the process alive. A pause must not, after the daemon's end.
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms).unref()),
      mustLeave: () => signal.aborted || !isOurs() || isStopRequested(spool.home),
    },
    setup,
  );
  const wake = (): void => daemon.wake();
  const watchers = ['pending', 'timers', 'control'].flatMap((folder) =>
    watchFolder(join(spool.home, folder), wake),
  );
  signal.addEventListener('abort', wake);
  try {
    return await daemon.work(interrupted);
  } finally {
    signal.removeEventListener('abort', wake);
    for (const watcher of watchers) watcher.close();
  }
}

/** Returns the tasks that ran when a daemon died, after ending everything left of their runs. */
async function findInterrupted(spool: Spool, graceMs: number): Promise<string[]> {
  const ids = await spool.listIds('running');
  const open = await Promise.all(
    ids.map(async (id) => {
      const run = await spool.getRun(id);
      if (run === undefined) return [id];
      await endOrphans(run, graceMs);
      const failed = await spool.getFailed(id);
      if (failed?.failure.runId !== run.runId) return [id];
      // The task had failed, and that is on record.
      await spool.succeed(id);
      return [];
    }),
  );
  return open.flat();
}

/** Returns false when the spool was deleted, or deleted and made anew: the lock then keeps nobody out. */
function watchOwnership(home: string): () => boolean {
  const inode = fs.statSync(spoolFile(home, 'lock')).ino;
  return () => fs.statSync(spoolFile(home, 'lock'), { throwIfNoEntry: false })?.ino === inode;
}

/** Some file systems cannot be watched. The daemon's regular look then has to do. */
function watchFolder(path: string, changed: () => void): fs.FSWatcher[] {
  try {
    const watcher = fs.watch(path, changed);
    watcher.on('error', () => watcher.close());
    return [watcher];
  } catch {
    return [];
  }
}

const POLL_MS = 20;

/**
 * Ends the processes left from a run whose daemon died, so that its task can run again and never runs twice at once.
 * The system may have given the number of a process to another since. So a group counts only if one of its processes
 * carries the id of the run.
 */
export async function endOrphans(run: Run, graceMs: number): Promise<void> {
  const killAt = Date.now() + graceMs;
  if (!isGroupOf(run)) return;
  killGroup(run.pid, 'SIGTERM');
  while (isGroupOf(run)) {
    if (Date.now() >= killAt) killGroup(run.pid, 'SIGKILL');
    await sleep(POLL_MS);
  }
}

function isGroupOf({ pid, runId }: Run): boolean {
  return listProcesses().some((process) => groupOf(process) === pid && hasRunId(process, runId));
}

/** The numbers of the processes; none on systems that do not show them as files. */
function listProcesses(): string[] {
  if (!fs.existsSync('/proc')) return [];
  return fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name));
}

function groupOf(process: string): number | undefined {
  // The program's name stands in parentheses and may hold any character. After it come state, parent and group.
  const text = readOrNothing(`/proc/${process}/stat`);
  const [, , group] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return group === undefined ? undefined : Number(group);
}

function hasRunId(process: string, runId: string): boolean {
  const variables = readOrNothing(`/proc/${process}/environ`).split('\0');
  return variables.includes(`NOTIFIER_RUN_ID=${runId}`);
}

/** A process may end during the look, or belong to another user. */
function readOrNothing(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

const ROTATE_BYTES = 1_000_000;

/** Appends lines with their time to a file. The previous file is kept as `<file>.1`. */
export function createLog(path: string, now: () => number): Log {
  return (message) => {
    const line = `[${new Date(now()).toISOString()}] ${message.replaceAll(/\s*\n\s*/g, ' ')}\n`;
    try {
      const size = fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (size > ROTATE_BYTES) fs.renameSync(path, `${path}.1`);
      fs.appendFileSync(path, line, { mode: 0o600 });
    } catch {
      // A full disk or a folder that is gone must not end the running tasks; the spool reports them.
    }
  };
}
