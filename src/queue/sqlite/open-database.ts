import { randomBytes } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { syncPath } from '../files/sync-path.ts';
import { BOOKKEEPING, SCHEMA, SCHEMA_VERSION } from './schema.ts';

/** How long one call waits for other processes. */
const BUSY_MS = 30_000;

/**
 * A connection on which a commit is on the disk when it returns: with a write-ahead log SQLite would otherwise
 * put the sync off, and a power cut would take back what was acknowledged.
 */
export function openDatabase(path: string): Database.Database {
  const database = new Database(path, { fileMustExist: true, timeout: BUSY_MS });
  try {
    setPragmas(database);
    if (database.pragma('user_version', { simple: true }) !== SCHEMA_VERSION)
      addBookkeeping(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Makes the database, under its name only when it is whole and on the disk. False when another process was
 * faster.
 */
export function createDatabase(path: string): boolean {
  const partial = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    // For its owner alone; SQLite gives its log the same mode.
    writeFileSync(partial, '', { flag: 'wx', mode: 0o600 });
    const database = new Database(partial, { timeout: BUSY_MS });
    try {
      setPragmas(database);
      database.transaction(() => {
        database.exec(SCHEMA);
        addBookkeeping(database);
      })();
    } finally {
      // The log goes into the file when the last one closes it.
      database.close();
    }
    syncPath(partial);
    try {
      // Unlike renaming, this fails when the name is taken.
      linkSync(partial, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
    syncPath(dirname(path));
    return true;
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(`${partial}${end}`, { force: true });
  }
}

function setPragmas(database: Database.Database): void {
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
}

function addBookkeeping(database: Database.Database): void {
  database.transaction(() => {
    database.exec(BOOKKEEPING);
    database.pragma(`user_version = ${SCHEMA_VERSION}`);
  })();
}
