import { randomBytes } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { sumOf } from '../event-line.ts';
import { syncPath } from '../files/sync-path.ts';
import type { QueueEvent } from '../queue.ts';
import { BOOKKEEPING, SCHEMA, SCHEMA_VERSION } from './schema.ts';

/** One call waits this long for other processes. */
const BUSY_MS = 30_000;

/**
 * Opens a connection on which a commit is on the disk when it returns. With a write-ahead log SQLite would otherwise
 * put the sync off, and a power cut would take back what was acknowledged.
 */
export function openDatabase(path: string): Database.Database {
  const database = new Database(path, { fileMustExist: true, timeout: BUSY_MS });
  try {
    setPragmas(database);
    if (!isWhole(database)) makeWhole(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Makes the database, which gets its name only when it is whole and on the disk. Returns false when another process was
 * faster.
 */
export function createDatabase(path: string): boolean {
  const partial = `${path}.${randomBytes(4).toString('hex')}.new`;
  try {
    // The file is for its owner alone; SQLite gives its log the same mode.
    writeFileSync(partial, '', { flag: 'wx', mode: 0o600 });
    const database = new Database(partial, { timeout: BUSY_MS });
    try {
      setPragmas(database);
      makeWhole(database);
    } finally {
      // SQLite moves the log into the file when the last connection closes.
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

/**
 * The tables that a queue cannot do without. Another program may have made the database, or a crash prevented some
 * tables.
 */
const TABLES = ['events', 'subscriptions', 'consumer_progress'];

function isWhole(database: Database.Database): boolean {
  if (database.pragma('user_version', { simple: true }) !== SCHEMA_VERSION) return false;
  const marks = TABLES.map(() => '?').join(', ');
  const count = database
    .prepare(`SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (${marks})`)
    .pluck();
  return count.get(...TABLES) === TABLES.length;
}

/** Adds the parts that a database lacks: all of them to an empty one, checksums to one of an earlier version. */
function makeWhole(database: Database.Database): void {
  database
    .transaction(() => {
      database.exec(SCHEMA);
      database.exec(BOOKKEEPING);
      const columns = database.pragma('table_info(events)') as { name: string }[];
      if (!columns.some(({ name }) => name === 'sum')) {
        database.exec('ALTER TABLE events ADD COLUMN sum INTEGER');
        sealEvents(database);
      }
      database.pragma(`user_version = ${SCHEMA_VERSION}`);
    })
    .immediate();
}

/** Gives a checksum to the events at the end that have none: other programs insert such events. */
export function sealEvents(database: Database.Database): void {
  // The function is part of a statement, so only this connection knows it.
  database.function('event_sum', { deterministic: true, varargs: true }, (...fields: unknown[]) => {
    const [id, created_at, source, type, subtype, content] = fields as [number, ...string[]];
    return sumOf({ id, created_at, source, type, subtype, content } as QueueEvent);
  });
  database.exec(`UPDATE events SET sum = event_sum(id, created_at, source, type, subtype, content)
    WHERE sum IS NULL AND id > (SELECT coalesce(max(id), 0) FROM events WHERE sum IS NOT NULL)`);
}
