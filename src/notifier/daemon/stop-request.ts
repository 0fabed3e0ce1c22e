import * as fs from 'node:fs';
import { spoolFile } from '../spool/home.ts';

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
