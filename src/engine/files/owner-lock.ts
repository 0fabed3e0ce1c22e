import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { QuipuError } from '../../base/errors.ts';
import type { IoLock } from '../io.ts';
import { OWNER_FILE, nameOwner, readOwnerNote } from './owner-note.ts';

// The owner of a store holds an SQLite exclusive lock on `lock.db`. The kernel lets go of it on any
// death of the process, so it is never stale, and SQLite also keeps two openings in one process
// apart, which bare POSIX locks do not. Nobody can read a database that is locked exclusively, so the
// owner's name stands in `owner.json` beside it; that file alone means nothing.

export function takeOwnerLock(path: string, owner: string): IoLock {
  const folder = dirname(path);
  const ownerPath = join(folder, OWNER_FILE);
  const db = new Database(path, { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY') !== true) throw error;
    const holder = nameOwner(readOwnerNote(folder));
    throw new QuipuError(
      'LOCKED',
      `the store at ${folder} is in use by ${holder}; close it there, or open the store elsewhere`,
      { what: 'store', owner: holder },
    );
  }
  try {
    fs.writeFileSync(ownerPath, owner, { mode: 0o600 });
  } catch (error) {
    // Nobody would ever let go of the lock.
    db.close();
    throw error;
  }
  return {
    async release() {
      if (!db.open) return;
      fs.rmSync(ownerPath, { force: true });
      db.close();
    },
  };
}
