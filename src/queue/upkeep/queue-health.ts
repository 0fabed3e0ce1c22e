import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Database, firstColumn, isSqliteError } from '../../base/sqlite.ts';
import type { FileCopies } from '../../engine/upkeep.ts';
import { sumOf } from '../events/event-line.ts';
import type { QueueEvent } from '../events/queue.ts';
import type { IdRange } from '../events/scan.ts';
import { mirrorEnd } from '../sqlite/event-mirror.ts';
import { checkEvents, isBehindMirror, checkEventsNow, mendEvents } from '../sqlite/mend-events.ts';
import {
  createDatabase,
  createQueueFolder,
  eventColumns,
  toStoredEvent,
  type StoredRow,
} from '../sqlite/open-database.ts';
import { QueueDatabase } from '../sqlite/queue-database.ts';
import {
  listAllQueues,
  listQueueFolders,
  queueFolder,
  putAside,
  syncPath,
  makeFolder,
  toQueueError,
  type QueueFolder,
} from '../sqlite/queue-folder.ts';

export interface QueueProblem {
  readonly queue: string;
  readonly what: string;
}

/** The largest number of problems reported for one queue. */
const PROBLEMS_MAX = 10;

/** Reads every event of every queue in a folder, and returns the problems. */
export async function checkQueues(parent: string): Promise<QueueProblem[]> {
  const problems: QueueProblem[] = [];
  for (const queue of listAllQueues(parent)) {
    const found = await verifyQueue(queueFolder(join(parent, queue)));
    problems.push(...found.map((what) => ({ queue, what })));
  }
  return problems;
}

/** Returns the problems of one queue: none when all of it can be read and is what was pushed. */
export async function verifyQueue(folder: QueueFolder): Promise<string[]> {
  const damage = checkDatabase(folder.database);
  if (damage.length > 0) {
    const end = mirrorEnd(folder);
    return end === 0 ? damage : [...damage, `events.jsonl has events up to ${end}`];
  }
  const database = new QueueDatabase(folder.database);
  try {
    const { damaged, missing } = await checkEvents(database);
    const newest = database.newestId();
    return [
      ...damaged.slice(0, PROBLEMS_MAX).map((id) => `event ${id} is damaged`),
      ...missing.slice(0, PROBLEMS_MAX).map((range) => `${nameRange(range)} missing`),
      ...(isBehindMirror(folder, database)
        ? [`events.jsonl goes on to ${mirrorEnd(folder)}, and events.db ends with ${newest}`]
        : []),
    ];
  } catch (error) {
    return [(error as Error).message];
  } finally {
    database.close();
  }
}

function nameRange({ after, through }: IdRange): string {
  return through === after + 1 ? `event ${through} is` : `events ${after + 1} to ${through} are`;
}

/** Returns what SQLite reports about its own file. */
function checkDatabase(path: string): string[] {
  try {
    const database = new Database(path, { access: 'read' });
    try {
      const sql = `PRAGMA integrity_check(${PROBLEMS_MAX})`;
      const found = database.prepare<[], { integrity_check: string }>(sql).all();
      return found.map((row) => row.integrity_check).filter((what) => what !== 'ok');
    } finally {
      database.close();
    }
  } catch (error) {
    return [`events.db cannot be read: ${(error as Error).message}`];
  }
}

// Makes a queue readable again. The mirror gives the events that the database cannot give. Events that neither can give
// are lost, and the repair says so. Nothing is deleted: a database that SQLite cannot read is put aside, and a damaged
// event goes to damaged_events.

/** Repairs every queue in a folder. Returns the losses. */
export function repairQueues(parent: string): QueueProblem[] {
  return listAllQueues(parent).flatMap((queue) =>
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
    const ids = Array.from({ length: STRETCH }, (_, at) => after + at);
    const pieces =
      readOr(() => read.all(after, after + STRETCH)) ??
      // Where events cannot be read together, they are read one by one.
      ids.flatMap((id) => readOr(() => read.all(id, id + 1)) ?? []);
    for (const row of pieces) {
      const { sum, ...event } = toStoredEvent(row);
      if (sum === sumOf(event)) yield event;
    }
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

// Backups of queues. A backup copies only the database. The mirror is written again from it. Logs, locks and files that
// were put aside belong to one machine and one time.

/**
 * Copies the database of every queue, each as it was at one moment, while it is in use. A copy appears under its
 * name only when it is whole and on the disk.
 */
export async function copyQueues(from: string, to: string): Promise<FileCopies> {
  let files = 0;
  let bytes = 0;
  for (const name of listQueueFolders(from)) {
    const source = queueFolder(join(from, name));
    const target = queueFolder(join(to, name));
    const partial = `${target.database}.new`;
    try {
      makeFolder(target.path);
      rmSync(partial, { force: true });
      writeFileSync(partial, '', { mode: 0o600 });
      await copyDatabase(source.database, partial);
      syncPath(partial);
      renameSync(partial, target.database);
      syncPath(target.path);
    } catch (error) {
      throw toQueueError(error, target.path);
    }
    files += 1;
    bytes += statSync(target.database).size;
  }
  return { files, bytes };
}

async function copyDatabase(from: string, to: string): Promise<void> {
  const database = new Database(from, { access: 'read' });
  try {
    await database.backup(to);
  } finally {
    database.close();
  }
}
