import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { locked } from '../../../base/errors.ts';
import { Database, isSqliteError } from '../../../base/sqlite.ts';
import type { IoLock } from '../../io.ts';
import { makePrivate } from './folders.ts';
import { leaveNote, nameOwner, OWNER_FILE, readOwnerNote } from './owner-note.ts';

export const LOCK_FILE = 'lock.db';

// The owner of a store holds the lock on `lock.db`. An exclusively locked database cannot be read, so the owner's
// name is in `owner.json` beside it. That file alone means nothing. A deleted file takes its lock with it: the next
// process would make a new file and be a second owner. So there is a second lock, in a place that people do not
// tidy up, and an owner holds both. Deleting one of them changes nothing.

const SECOND_LOCK = 'journal/lock.db';

export function takeOwnerLock(path: string, owner: string): IoLock {
  const folder = dirname(path);
  const ownerPath = join(folder, OWNER_FILE);
  const unlock = takeBoth(path, join(folder, SECOND_LOCK));
  if (unlock === undefined) {
    const holder = nameOwner(readOwnerNote(folder));
    throw locked(
      'store',
      holder,
      `the store at ${folder} is in use by ${holder}; close it there, or open the store elsewhere`,
    );
  }
  try {
    leaveNote(folder, owner);
  } catch (error) {
    // Without this, the lock would never be released.
    unlock();
    throw error;
  }
  let held = true;
  return {
    async release() {
      if (!held) return;
      held = false;
      try {
        fs.rmSync(ownerPath, { force: true });
      } finally {
        unlock();
      }
    },
  };
}

/** Undefined, with neither lock taken, when another process holds one of them. */
function takeBoth(first: string, second: string): (() => void) | undefined {
  const unlockFirst = takeExclusiveLock(first, 0);
  if (unlockFirst === undefined) return undefined;
  let unlockSecond: (() => void) | undefined;
  try {
    fs.mkdirSync(dirname(second), { recursive: true, mode: 0o700 });
    unlockSecond = takeExclusiveLock(second, 0);
  } finally {
    if (unlockSecond === undefined) unlockFirst();
  }
  if (unlockSecond === undefined) return undefined;
  const last = unlockSecond;
  return () => {
    try {
      last();
    } finally {
      unlockFirst();
    }
  };
}

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

function openLock(path: string, waitMs: number): Database {
  makePrivate(path);
  return new Database(path, { busyMs: waitMs });
}

/** False, with the database closed, when another process holds the lock. */
function succeeds(db: Database, sql: string): boolean {
  try {
    db.exec(sql);
    return true;
  } catch (error) {
    db.close();
    if (isSqliteError(error) && error.code.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}
