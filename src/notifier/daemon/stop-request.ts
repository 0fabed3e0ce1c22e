import * as fs from 'node:fs';
import { spoolFile } from '../spool/home.ts';

// A wish that the daemon leaves: a file with the time of the wish. It is for whoever serves the spool, and for whoever
// was asked to before that time and is still on the way. It stays until a daemon begins that was asked for later: so
// whoever adds a task while one leaves finds the wish or a free lock, and starts another one.

export function requestStop(home: string, nowMs: number): void {
  fs.writeFileSync(spoolFile.stop(home), `${nowMs}\n`, { mode: 0o600 });
}

export function isStopRequested(home: string): boolean {
  return fs.existsSync(spoolFile.stop(home));
}

/** Whether it is for a daemon that was asked for at this time. One without a time is for the daemon before. */
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
