import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { QuipuError } from '../../base/errors.ts';
import type { IoLock } from '../io.ts';

// The owner of a store holds an SQLite exclusive lock on `lock.db`. The kernel lets go of it on any
// death of the process, so it is never stale, and SQLite also keeps two openings in one process
// apart, which bare POSIX locks do not. Nobody can read a database that is locked exclusively, so the
// owner's name stands in `owner.json` beside it; that file alone means nothing.

export function takeOwnerLock(path: string, owner: string): IoLock {
  const ownerPath = join(dirname(path), 'owner.json');
  const db = new Database(path, { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY') !== true) throw error;
    const holder = readOwner(ownerPath);
    throw new QuipuError(
      'LOCKED',
      `the store at ${dirname(path)} is in use by ${holder}; close it there, or open the store elsewhere`,
      { what: 'store', owner: holder },
    );
  }
  fs.writeFileSync(ownerPath, owner, { mode: 0o600 });
  return {
    async release() {
      if (!db.open) return;
      fs.rmSync(ownerPath, { force: true });
      db.close();
    },
  };
}

function readOwner(path: string): string {
  try {
    const said = JSON.parse(fs.readFileSync(path, 'utf8')) as { pid?: unknown; host?: unknown };
    return `process ${String(said.pid)} on ${String(said.host)}`;
  } catch {
    // The owner has the lock and has not written its name yet, or is about to leave.
    return 'another process';
  }
}
