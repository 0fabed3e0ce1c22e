import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Database, type Statement, firstColumn, isSqliteError } from '../../base/sqlite.ts';
import { sumOf } from '../events/event-line.ts';
import type { QueueEvent } from '../events/queue.ts';
import {
  putAside,
  syncPath,
  listLostQueues,
  listQueueFolders,
  queueFolder,
  type QueueFolder,
} from '../folder/queue-folder.ts';
import { mirrorEnd } from '../folder/mirror-lines.ts';
import { checkEventsNow, mendEvents } from '../sqlite/mend-events.ts';
import {
  createDatabase,
  createQueueFolder,
  eventColumns,
  toStoredEvent,
  type StoredRow,
} from '../sqlite/open-database.ts';
import { QueueDatabase } from '../sqlite/queue-database.ts';
import { checkDatabase, nameRange, type QueueProblem } from './verify-queues.ts';

// Makes a queue readable again. The mirror gives the events that the database cannot give. Events that neither can give
// are lost, and the repair says so. Nothing is deleted: a database that SQLite cannot read is put aside, and a damaged
// event goes to damaged_events.

/** Repairs every queue in a folder. Returns the losses. */
export function repairQueues(parent: string): QueueProblem[] {
  const names = [...listQueueFolders(parent), ...listLostQueues(parent)].toSorted();
  return names.flatMap((queue) =>
    repairQueue(queueFolder(join(parent, queue))).map((what) => ({ queue, what })),
  );
}

/** Returns the losses. Nobody else may use the queue meanwhile. */
export function repairQueue(folder: QueueFolder): string[] {
  const lost: string[] = [];
  if (!createQueueFolder(folder.path) && checkDatabase(folder.database).length > 0) {
    lost.push(...rebuild(folder));
  }
  const database = new QueueDatabase(folder.database);
  try {
    mendEvents(folder, database);
    database.exclusively(() => {
      const { damaged } = checkEventsNow(database);
      for (const id of damaged) database.putAside(id);
      for (const range of checkEventsNow(database).missing) {
        database.noteLoss(range);
        lost.push(`${nameRange(range)} lost`);
      }
    });
  } finally {
    database.close();
  }
  return lost;
}

/** Makes a new database with everything that can be read of the old one. The old one is put aside. */
function rebuild(folder: QueueFolder): string[] {
  const path = `${folder.database}.rebuilt`;
  rmSync(path, { force: true });
  createDatabase(path);
  const target = new QueueDatabase(path);
  let lost: string[];
  try {
    lost = target.exclusively(() => salvage(folder, target));
  } finally {
    target.close();
  }
  syncPath(path);
  // The log moves first: SQLite must not take it for the log of the new database.
  putAside(`${folder.database}-wal`, Date.now());
  rmSync(`${folder.database}-shm`, { force: true });
  putAside(folder.database, Date.now());
  renameSync(path, folder.database);
  syncPath(folder.path);
  return lost;
}

/** About a page of a table. */
const STRETCH = 64;
const TABLES = ['subscriptions', 'consumer_progress', 'consumer_failures', 'event_losses'];

function salvage(folder: QueueFolder, target: QueueDatabase): string[] {
  const lost: string[] = [];
  let source: Database;
  try {
    source = new Database(folder.database, { access: 'write' });
  } catch {
    return ['subscriptions and progress are lost'];
  }
  try {
    for (const table of TABLES) {
      const rows = readOr(() => source.prepare(`SELECT * FROM ${table} NOT INDEXED`).all());
      if (rows === undefined) lost.push(`${table} are lost`);
      else target.take(table, rows as Readonly<Record<string, unknown>>[]);
    }
    for (const event of salvageEvents(source, folder)) target.restore([event]);
  } finally {
    source.close();
  }
  return lost;
}

/** Yields the events whose checksums prove them. */
function* salvageEvents(source: Database, folder: QueueFolder): Generator<QueueEvent> {
  const newest = readOr(() => firstColumn(source.prepare('SELECT max(id) FROM events').get())) as
    | number
    | null
    | undefined;
  const end = Math.max(newest ?? 0, mirrorEnd(folder));
  const read = readOr(() =>
    source.prepare<number[], StoredRow>(
      `SELECT ${eventColumns(source)} FROM events NOT INDEXED WHERE id > ? AND id <= ?`,
    ),
  );
  if (read === undefined) return;
  for (let after = 0; after < end; after += STRETCH) {
    const pieces = readOr(() => read.all(after, after + STRETCH)) ?? [...one(read, after)];
    for (const row of pieces) {
      const { sum, ...event } = toStoredEvent(row);
      if (sum === sumOf(event)) yield event;
    }
  }
}

/** Reads events one by one, where they cannot be read together. */
function* one(read: Statement<number[], StoredRow>, after: number): Generator<StoredRow> {
  for (let id = after; id < after + STRETCH; id += 1) {
    yield* readOr(() => read.all(id, id + 1)) ?? [];
  }
}

/** Returns undefined for a row that SQLite cannot read. */
function readOr<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isSqliteError(error)) return undefined;
    throw error;
  }
}
