import Database from 'better-sqlite3';
import { makePrivate } from './make-private.ts';

// An SQLite lock on an empty file. The kernel releases the lock on any death of the process, so it is never stale.
// SQLite also keeps two openings in one process apart, which bare POSIX locks do not.

/**
 * Takes the lock, waiting at most `waitMs`. Call the result to release it. Undefined when another process holds it.
 */
export function takeExclusiveLock(path: string, waitMs: number): (() => void) | undefined {
  const db = openLock(path, waitMs);
  // Nothing is ever written, so SQLite needs no file beside it, for which a full disk would have no room.
  if (!succeeds(db, 'PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')) return undefined;
  return () => {
    db.close();
  };
}

/** Whether another process holds the lock. Concurrent callers do not disturb each other. */
export function isLockTaken(path: string): boolean {
  const db = openLock(path, 0);
  const free = succeeds(db, 'SELECT 1 FROM sqlite_schema');
  if (free) db.close();
  return !free;
}

function openLock(path: string, waitMs: number): Database.Database {
  makePrivate(path);
  return new Database(path, { timeout: waitMs });
}

/** False, with the database closed, when another process holds the lock. */
function succeeds(db: Database.Database, sql: string): boolean {
  try {
    db.exec(sql);
    return true;
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY') === true) return false;
    throw error;
  }
}
