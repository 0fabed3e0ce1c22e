import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import type { QueueFolder } from '../sqlite/queue-folder.ts';
import { isRunning, type ProcessMark } from './run-handler.ts';

// run/<consumer>.lock: the process that runs the handler of a consumer.
// Invariants
// - A process reads the lock in order to take it, writes it and removes it only under the write lock of the database.
//   So only one process takes over a stale lock.
// - The lock counts only while the process that it names lives. Nothing has to clean up after a crash.

export interface LockNote {
  /** Only the holder of the lock knows this token. */
  readonly token: string;
  readonly supervisor: ProcessMark;
  /** The handler, which is the leader of its process group, and the time it began. */
  readonly handler?: ProcessMark & { readonly since: string };
}

export function newToken(): string {
  return randomBytes(8).toString('hex');
}

function lockPath(folder: QueueFolder, consumer: string): string {
  return join(folder.run, `${consumer}.lock`);
}

/** Returns undefined when there is no lock, or none that can be read: a lock that names no holder holds nothing. */
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
  // Creates only this level: a queue that was deleted must not come back as an empty folder.
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

// run/dispatch.asked: a process asked for a dispatch, and that dispatch has not looked yet.
// A dispatch removes this file before it looks at the events. So a process that finds the file after its push was
// committed knows that a dispatch will see that push, and asks for none itself. A burst of pushes has one dispatch and
// not one for each push.

/** After this long, the process that asked, or the one that was asked, counts as gone. */
const FRESH_MS = 10_000;

function askedPath({ run }: QueueFolder): string {
  return join(run, 'dispatch.asked');
}

/** Returns true when nobody has asked yet. The caller has then asked, and must run the dispatch. */
export function askForDispatch(folder: QueueFolder, nowMs: number): boolean {
  const path = askedPath(folder);
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    // In a folder that is not writable, every process asks.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return true;
  }
  const askedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (askedAt !== undefined && Math.abs(nowMs - askedAt) < FRESH_MS) return false;
  // Several processes may find the file stale at once: one dispatch too many does no harm.
  forgetAsked(folder);
  return askForDispatch(folder, nowMs);
}

export function forgetAsked(folder: QueueFolder): void {
  rmSync(askedPath(folder), { force: true });
}
