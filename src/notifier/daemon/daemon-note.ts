import * as fs from 'node:fs';
import { isLockTaken } from '../../engine/files/disk/owner-lock.ts';
import { spoolFile } from '../spool/home.ts';

/** The daemon's note about itself. Only the lock tells whether there is a daemon. */
export interface DaemonNote {
  readonly pid: number;
  readonly since: number;
  readonly limit: number;
  readonly idleMs: number;
}

/** Only the holder of the lock may call this. */
export function writeDaemonNote(home: string, note: Omit<DaemonNote, 'pid'>): void {
  const text = `${JSON.stringify({ pid: process.pid, ...note })}\n`;
  fs.writeFileSync(spoolFile.daemon(home), text, { mode: 0o600 });
}

/** Returns whether a daemon serves the spool. */
export function isServed(home: string): boolean {
  return isLockTaken(spoolFile.lock(home));
}

/** Returns undefined when the daemon has not written a note yet. */
export function readDaemonNote(home: string): DaemonNote | undefined {
  try {
    return JSON.parse(fs.readFileSync(spoolFile.daemon(home), 'utf8')) as DaemonNote;
  } catch {
    return undefined;
  }
}

// A request that the daemon leaves: a file with the time of the request. The request is for the daemon that serves the
// spool, and for a daemon that was asked for before that time and is still starting. The file stays until a daemon
// begins that was asked for later. So a process that adds a task while a daemon leaves finds the request or a free
// lock, and starts another daemon.

export function requestStop(home: string, nowMs: number): void {
  fs.writeFileSync(spoolFile.stop(home), `${nowMs}\n`, { mode: 0o600 });
}

export function isStopRequested(home: string): boolean {
  return fs.existsSync(spoolFile.stop(home));
}

/**
 * Returns whether the request is for a daemon that was asked for at this time. A request without a time is for the
 * daemon before.
 */
export function isStopFor(home: string, askedAt: number): boolean {
  try {
    return Number.parseInt(fs.readFileSync(spoolFile.stop(home), 'utf8'), 10) >= askedAt;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

export function dropStopRequest(home: string): void {
  fs.rmSync(spoolFile.stop(home), { force: true });
}
