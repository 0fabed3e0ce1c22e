import { QuipuError } from '../../base/errors.ts';

/** What SQLite and the file system say, in the words of the store's errors. `path` is the queue's folder. */
export function toQueueError(error: unknown, path: string): Error {
  if (error instanceof QuipuError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') return error as Error;
  const why = { cause: error };
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') {
    return new QuipuError('DISK_FULL', `the disk is full, in ${path}`, { path }, why);
  }
  if (code === 'SQLITE_READONLY_DBMOVED' || code === 'ENOENT') {
    const gone = `${path} was moved or deleted while it was in use`;
    return new QuipuError('NOT_FOUND', gone, { what: 'thread', id: path }, why);
  }
  if (code.startsWith('SQLITE_READONLY') || code === 'EROFS' || code === 'EACCES') {
    return new QuipuError('READ_ONLY', `${path} cannot be written to`, { path }, why);
  }
  if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_LOCKED') {
    const busy = `other processes kept ${path} busy for too long`;
    return new QuipuError('LOCKED', busy, { what: 'queue', owner: 'another process' }, why);
  }
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    const damaged = `events.db in ${path} is damaged: ${message}`;
    return new QuipuError('CORRUPT', damaged, { file: 'events.db', offset: 0 }, why);
  }
  return new QuipuError('IO', `cannot use ${path}: ${message}`, { path, errno: code }, why);
}

/** Runs SQLite's or the file system's part of a call. */
export function inQueueWords<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toQueueError(error, path);
  }
}
