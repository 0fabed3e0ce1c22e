import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueueFolder } from '../folder.ts';
import { isRunning } from './process-life.ts';
import type { ProcessMark } from './process-life.ts';

// run/<consumer>.lock: who runs the handler of a consumer.
// Invariants
// - It is read to be taken, written and removed only under the write lock of the database, so a lock that is
//   stale is taken over by one process.
// - It counts only while the process that it names lives. Nothing has to clean up after a crash.

export interface LockNote {
  /** Known to the one who holds it. */
  readonly token: string;
  readonly supervisor: ProcessMark;
  /** The handler, which is the leader of its process group, and when it began. */
  readonly handler?: ProcessMark & { readonly since: string };
}

export function newToken(): string {
  return randomBytes(8).toString('hex');
}

function lockPath(folder: QueueFolder, consumer: string): string {
  return join(folder.run, `${consumer}.lock`);
}

/** Undefined when there is none, or none that makes sense: what cannot name its holder holds nothing. */
export function readLock(folder: QueueFolder, consumer: string): LockNote | undefined {
  try {
    const note = JSON.parse(readFileSync(lockPath(folder, consumer), 'utf8')) as Partial<LockNote>;
    if (typeof note.token !== 'string' || typeof note.supervisor?.pid !== 'number')
      return undefined;
    return note as LockNote;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function isHeld(note: LockNote | undefined): note is LockNote {
  return note !== undefined && isRunning(note.supervisor);
}

export function writeLock(folder: QueueFolder, consumer: string, note: LockNote): void {
  const path = lockPath(folder, consumer);
  const partial = `${path}.${note.token}`;
  // Only this level: a queue that was deleted must not come back as an empty folder.
  if (!existsSync(folder.run)) mkdirSync(folder.run, 0o700);
  try {
    writeFileSync(partial, `${JSON.stringify(note)}\n`, { mode: 0o600 });
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

export function removeLock(folder: QueueFolder, consumer: string): void {
  rmSync(lockPath(folder, consumer), { force: true });
}
