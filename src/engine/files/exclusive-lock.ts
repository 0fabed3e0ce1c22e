import Database from 'better-sqlite3';

// An SQLite lock on a file that holds nothing. The kernel lets go of it on any death of the process, so it
// is never stale, and SQLite also keeps two openings in one process apart, which bare POSIX locks do not.

/** Takes the lock, waiting at most `waitMs`; the result gives it back. Undefined when another has it. */
export function takeExclusiveLock(path: string, waitMs: number): (() => void) | undefined {
  const db = new Database(path, { timeout: waitMs });
  if (!succeeds(db, 'BEGIN EXCLUSIVE')) return undefined;
  return () => {
    db.close();
  };
}

/** Whether someone has the lock. Those who ask do not get into each other's way. */
export function isLockTaken(path: string): boolean {
  const db = new Database(path, { timeout: 0 });
  const free = succeeds(db, 'SELECT 1 FROM sqlite_schema');
  if (free) db.close();
  return !free;
}

/** False, with the database closed, when another process is in the way. */
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
