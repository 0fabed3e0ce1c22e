import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { QuipuError, corrupt } from '../../base/errors.ts';

/** Turns errors of SQLite and of the file system into errors of the store. `path` is the queue's folder. */
export function toQueueError(error: unknown, path: string): Error {
  if (error instanceof QuipuError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') return error as Error;
  const why = { cause: error };
  if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_LOCKED') {
    const busy = `other processes kept ${path} busy for too long`;
    return new QuipuError('LOCKED', busy, { what: 'queue', owner: 'another process' }, why);
  }
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    const damaged = `events.db in ${path} is damaged: ${message}`;
    return corrupt('events.db', damaged, why);
  }
  if (code === 'SQLITE_ERROR') {
    const strange = `events.db in ${path} is not a thread's: ${message}`;
    return corrupt('events.db', strange, why);
  }
  const missing = code === 'ENOENT' ? 'gone' : undefined;
  switch (troubleOf(code) ?? findTrouble(path) ?? missing) {
    case 'full':
      return new QuipuError('DISK_FULL', `the disk is full, in ${path}`, { path }, why);
    case 'read-only':
      return new QuipuError('READ_ONLY', `${path} cannot be written to`, { path }, why);
    case 'gone': {
      const gone = `${path} was moved or deleted while it was in use`;
      return new QuipuError('NOT_FOUND', gone, { what: 'thread', id: path }, why);
    }
    case undefined:
      return new QuipuError('IO', `cannot use ${path}: ${message}`, { path, errno: code }, why);
  }
}

/** The trouble, as far as the code alone tells it. */
function troubleOf(code: string): Trouble | undefined {
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  if (code === 'SQLITE_READONLY_DBMOVED') return 'gone';
  if (code.startsWith('SQLITE_READONLY')) return 'read-only';
  return code === 'EROFS' || code === 'EACCES' || code === 'EPERM' ? 'read-only' : undefined;
}

/** Returns whether SQLite could not go on, as opposed to a caller that asked for too much. */
export function isFatal({ cause }: Error): boolean {
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === 'string' && code.startsWith('SQLITE_');
}

/** Runs SQLite's or the file system's part of a call, and turns its errors into errors of the store. */
export function inQueueWords<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toQueueError(error, path);
  }
}

/** Less than SQLite needs to open a database, or than a file system can give in pieces. */
const ROOM_BYTES = 64 * 1024;

type Trouble = 'gone' | 'read-only' | 'full';

/**
 * Finds the reason why nothing can be done in a folder, by looking at the folder after something failed. SQLite says
 * "disk I/O error" or "unable to open" for all of these.
 */
function findTrouble(path: string): Trouble | undefined {
  if (!existsSync(path)) return 'gone';
  try {
    accessSync(path, constants.W_OK);
  } catch {
    return 'read-only';
  }
  const { bavail, bsize, files, ffree } = statfsSync(path);
  // Some file systems do not count files, and report zero for both.
  return bavail * bsize < ROOM_BYTES || (files > 0 && ffree === 0) ? 'full' : undefined;
}
