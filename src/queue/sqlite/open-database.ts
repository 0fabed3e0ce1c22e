import { randomBytes } from 'node:crypto';
import { linkSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Database, firstColumn, toText } from '../../base/sqlite.ts';
import { sumOf } from '../events/event-line.ts';
import type { QueueEvent } from '../events/queue.ts';
import { syncPath, makeFolder, queueFolder, toQueueError } from './queue-folder.ts';

/** One call waits this long for other processes. */
const BUSY_MS = 30_000;

/**
 * Opens a connection on which a commit is on the disk when it returns. With a write-ahead log SQLite would otherwise
 * put the sync off, and a power cut would take back what was acknowledged.
 */
export function openDatabase(path: string): Database {
  const database = new Database(path, { access: 'write', busyMs: BUSY_MS });
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
    const database = new Database(partial, { busyMs: BUSY_MS });
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

function setPragmas(database: Database): void {
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  // On macOS a plain sync leaves bytes in the cache of the disk. Elsewhere this has no effect.
  database.pragma('fullfsync = ON');
}

/**
 * The tables that a queue cannot do without. Another program may have made the database, or a crash prevented some
 * tables.
 */
const TABLES = ['events', 'subscriptions', 'consumer_progress'];

function isWhole(database: Database): boolean {
  if (database.pragma('user_version') !== SCHEMA_VERSION) return false;
  const marks = TABLES.map(() => '?').join(', ');
  const count = database.prepare(
    `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (${marks})`,
  );
  return firstColumn(count.get(...TABLES)) === TABLES.length;
}

/** Adds the parts that a database lacks: all of them to an empty one, checksums to one of an earlier version. */
function makeWhole(database: Database): void {
  database.transaction(() => {
    database.exec(SCHEMA);
    database.exec(BOOKKEEPING);
    const columns = database.prepare<[], { name: string }>('PRAGMA table_info(events)').all();
    if (!columns.some(({ name }) => name === 'sum')) {
      database.exec('ALTER TABLE events ADD COLUMN sum INTEGER');
      sealEvents(database);
    }
    database.pragma(`user_version = ${SCHEMA_VERSION}`);
  }, 'immediate');
}

/** Gives a checksum to the events at the end that have none: other programs insert such events. */
export function sealEvents(database: Database): void {
  const sealed = database.prepare('SELECT coalesce(max(id), 0) FROM events WHERE sum IS NOT NULL');
  const next = database.prepare<number[], StoredRow>(
    `SELECT ${eventColumns(database)} FROM events NOT INDEXED WHERE id > ? ORDER BY id LIMIT 1`,
  );
  const seal = database.prepare('UPDATE events SET sum = ? WHERE id = ?');
  let row = next.get(firstColumn(sealed.get()) as number);
  while (row !== undefined) {
    const { sum: _none, ...event } = toStoredEvent(row);
    seal.run(sumOf(event), event.id);
    row = next.get(event.id);
  }
}

/** A row. If it has no checksum, another program inserted it. */
export interface StoredEvent extends QueueEvent {
  readonly sum: number | null;
}

/** A row with `eventColumns`. */
export type StoredRow = Omit<StoredEvent, 'content'> & { readonly content: string | Uint8Array };

/** The columns of an event that a read selects. A content may have a NUL in it. */
export function eventColumns(database: Database): string {
  return `id, created_at, source, type, subtype, ${database.wholeText('content')}, sum`;
}

export function toStoredEvent(row: StoredRow): StoredEvent {
  return { ...row, content: toText(row.content) };
}

/**
 * Makes a queue in a folder that is not one yet, whatever else is in it. Returns false when it is one already. The
 * database comes last, and gets its name only when it is whole: a crash before that leaves a folder that is not a
 * queue.
 */
export function createQueueFolder(path: string): boolean {
  const folder = queueFolder(path);
  try {
    if (existsSync(folder.database)) return false;
    // All folders are durable before the database has its name: a process that finds the database may push at once.
    for (const part of [folder.run, folder.logs]) makeFolder(part);
    writeFileSync(folder.mirror, '', { flag: 'a', mode: 0o600 });
    return createDatabase(folder.database);
  } catch (error) {
    // The cause is at the folder's place, or above it.
    throw toQueueError(error, nearestThere(folder.path));
  }
}

function nearestThere(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestThere(dirname(path));
}

// Tables of events.db. docs/format/queue.md is normative.

/** The tables that other programs may read. */
export const SCHEMA = `
CREATE TABLE IF NOT EXISTS events (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  source     TEXT    NOT NULL,
  type       TEXT    NOT NULL,
  subtype    TEXT,
  content    TEXT    NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_events_source ON events(source);
CREATE INDEX IF NOT EXISTS idx_events_type   ON events(type);
CREATE TABLE IF NOT EXISTS subscriptions (
  consumer_id  TEXT NOT NULL,
  handler_cmd  TEXT NOT NULL,
  filter       TEXT,
  PRIMARY KEY (consumer_id)
);
CREATE TABLE IF NOT EXISTS consumer_progress (
  consumer_id   TEXT NOT NULL PRIMARY KEY,
  last_acked_id INTEGER NOT NULL DEFAULT 0,
  updated_at    TEXT NOT NULL
);
`;

/**
 * Bookkeeping of this implementation, added to a database that has only the tables above. These tables may be emptied:
 * bookmarks save reading, failures are for people, line counts begin anew, and losses are noticed again.
 */
const BOOKKEEPING = `
CREATE TABLE IF NOT EXISTS consumer_bookmarks (
  consumer_id TEXT NOT NULL PRIMARY KEY,
  from_id     INTEGER NOT NULL,
  to_id       INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS consumer_failures (
  consumer_id TEXT NOT NULL PRIMARY KEY,
  failures    INTEGER NOT NULL,
  failed      INTEGER NOT NULL,
  last_error  TEXT NOT NULL,
  updated_at  TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS file_lines (
  name  TEXT NOT NULL PRIMARY KEY,
  lines INTEGER NOT NULL
);
INSERT OR IGNORE INTO file_lines (name, lines) VALUES ('events.jsonl', 0), ('thread.log', 0);
CREATE TABLE IF NOT EXISTS event_losses (
  first_id INTEGER NOT NULL PRIMARY KEY,
  last_id  INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS damaged_events (
  id INTEGER NOT NULL, created_at, source, type, subtype, content, sum
);
`;

/** This version means that the bookkeeping and the checksums are there. */
const SCHEMA_VERSION = 2;
