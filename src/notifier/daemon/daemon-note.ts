import * as fs from 'node:fs';
import { isLockTaken } from '../../engine/files/disk/exclusive-lock.ts';
import { spoolFile } from '../spool/home.ts';

/** What the daemon says about itself. Only the lock says whether there is one. */
export interface DaemonNote {
  readonly pid: number;
  readonly since: number;
  readonly limit: number;
  readonly idleMs: number;
}

/** Only for who holds the lock. */
export function writeDaemonNote(home: string, note: Omit<DaemonNote, 'pid'>): void {
  const text = `${JSON.stringify({ pid: process.pid, ...note })}\n`;
  fs.writeFileSync(spoolFile.daemon(home), text, { mode: 0o600 });
}

/** Whether a daemon serves the spool. */
export function isServed(home: string): boolean {
  return isLockTaken(spoolFile.lock(home));
}

/** Undefined when it has not said anything yet. */
export function readDaemonNote(home: string): DaemonNote | undefined {
  try {
    return JSON.parse(fs.readFileSync(spoolFile.daemon(home), 'utf8')) as DaemonNote;
  } catch {
    return undefined;
  }
}
