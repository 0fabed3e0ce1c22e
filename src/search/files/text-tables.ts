import { closeSync, openSync } from 'node:fs';
import { Database, firstColumn, type ColumnStatement, type Statement } from '../../base/sqlite.ts';
import { SCHEMA, SCHEMA_VERSION, createPart, partName } from './schema.ts';

// search.db and its statements. One connection writes, another reads: WAL lets both work at once.

/** For each connection. The operating system caches the file: eight megabytes here were no faster than two. */
export const CACHE_KIB: number = 2 * 1024;
const CHECKPOINT_PAGES = 4000;
const BUSY_MS = 10_000;

/** Opens the file for its only writer, and makes the tables if there are none. */
export function openForWriting(path: string): Database {
  // Only the owner of the store may read what was said in it.
  closeSync(openSync(path, 'a', 0o600));
  const db = new Database(path, { busyMs: BUSY_MS });
  try {
    if (firstColumn(db.prepare('SELECT count(*) FROM sqlite_schema').get()) === 0) {
      db.pragma('auto_vacuum = INCREMENTAL');
      db.pragma('journal_mode = WAL');
      db.transaction(() => {
        db.exec(SCHEMA);
        db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
      }, 'immediate');
    }
    setUp(db);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma('secure_delete = FAST');
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

export function openForReading(path: string): Database {
  const db = new Database(path, { busyMs: BUSY_MS, access: 'read' });
  try {
    setUp(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function setUp(db: Database): void {
  const version = db.pragma('user_version');
  if (version !== SCHEMA_VERSION) throw new WrongVersion(String(version));
  db.pragma(`cache_size = -${CACHE_KIB}`);
  db.pragma('mmap_size = 0');
}

/** The file was written by another version, and is built again. */
export class WrongVersion extends Error {
  constructor(version: string) {
    super(`search.db has version ${version}, not ${SCHEMA_VERSION}`);
    this.name = 'WrongVersion';
  }
}

export interface PartRow {
  readonly id: number;
  readonly first: number;
  readonly chars: number;
  readonly sealed: number;
  readonly dirty: number;
}

/** Newest first. */
export function listParts(db: Database): PartRow[] {
  return db
    .prepare('SELECT id, first, chars, sealed, dirty FROM parts ORDER BY id DESC')
    .all() as PartRow[];
}

export function addPart(db: Database, id: number, first: number): PartRow {
  db.exec(createPart(id));
  db.prepare('INSERT INTO parts (id, first, chars, sealed, dirty) VALUES (?, ?, 0, 0, 0)').run(
    id,
    first,
  );
  return { id, first, chars: 0, sealed: 0, dirty: 0 };
}

/** Rewrites a part as one segment, without what was removed from it. */
export function rewritePart(db: Database, part: number): void {
  db.exec(`INSERT INTO ${partName(part)} (${partName(part)}) VALUES ('optimize')`);
}

/** Parameters for a list of values. To hand the list over as JSON takes half as long again. */
export function listing(values: readonly unknown[]): string {
  return `(${values.map(() => '?').join()})`;
}

/** Keeps statements that were prepared. */
export class Statements {
  readonly #db: Database;
  readonly #kept = new Map<string, Statement>();
  readonly #columns = new Map<string, ColumnStatement>();

  constructor(db: Database) {
    this.#db = db;
  }

  get(sql: string): Statement {
    let statement = this.#kept.get(sql);
    if (statement === undefined || statement.busy) {
      statement = this.#db.prepare(sql);
      this.#kept.set(sql, statement);
    }
    return statement;
  }

  /** A statement for the first column of its rows, by a name that takes less time to make than the text. */
  column(name: string, sql: () => string): ColumnStatement {
    let statement = this.#columns.get(name);
    if (statement === undefined) {
      statement = this.#db.prepareColumn(sql());
      this.#columns.set(name, statement);
    }
    return statement;
  }

  value(sql: string, ...params: unknown[]): unknown {
    return this.column(sql, () => sql).get(...params);
  }
}
