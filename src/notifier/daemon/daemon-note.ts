import * as fs from 'node:fs';
import { isLockTaken } from '../../engine/files/disk/exclusive-lock.ts';
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
