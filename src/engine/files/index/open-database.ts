import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hashBytes } from '../../../base/hash.ts';
import { Database, MEMORY, type Statement, firstColumn } from '../../../base/sqlite.ts';
import { makePrivate } from '../disk/folders.ts';
import { CONTEXT_TABLES_SQL } from './context-table.ts';
import { MANIFEST_SQL, ManifestTable } from './manifest.ts';
import { NAME_TABLES_SQL } from './name-tables.ts';
import { RUN_TABLES_SQL } from './run-tables.ts';
import { ShelfDamaged } from './shelf.ts';

// SQLite does not notice every flipped bit: a changed key makes a row impossible to find. So while a small file is
// closed, a hash of the whole file lies beside it. Larger files rely on their row checksums: reading them whole
// would cost more than opening may take.

/** Up to this size a file is checked as a whole when it is opened. */
const CHECKED_BYTES_MAX: number = 16 * 1024 * 1024;

/** Rises when a table or an entry changes. There is no migration: the file is rebuilt. */
const SCHEMA_VERSION = 4;

/** Chunks are read once and are not worth a large cache; contexts, names and the inner pages are. */
const CACHE_KIB = 16 * 1024;

/**
 * A checkpoint syncs, and the flush that reaches this many pages waits for it. Fewer pages make more
 * and shorter waits: while a collection filled the index, one flush in twenty took 68 ms with 2,000
 * pages and 36 ms with 400, on two busy vCPUs.
 */
const CHECKPOINT_PAGES = 500;

/** Only a curious person opens an index beside its owner. Without the file there is still memory. */
const BUSY_MS = 500;

export function openDatabase(path: string): Database {
  if (path !== MEMORY) makePrivate(path);
  const db = new Database(path, { busyMs: BUSY_MS });
  try {
    // This setting comes first: a database that is not shared needs no second file, and no room for it.
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma(`cache_size = -${CACHE_KIB}`);
    db.pragma('mmap_size = 0');
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    prepareSchema(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

interface Table {
  readonly name: string;
  readonly sql: string;
}
const TABLES_SQL = `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`;

/** Copies the whole database, as it is read now, into memory. The file is left alone. */
export function copyToMemory(db: Database): Database {
  const copy = new Database(MEMORY);
  copy.transaction(() => {
    for (const { name, sql } of db.prepare<[], Table>(TABLES_SQL).all()) {
      copy.exec(sql);
      let put: Statement<unknown[]> | undefined;
      for (const row of db.prepare(`SELECT * FROM ${name}`).iterate()) {
        const values: unknown[] = Object.values(row as object);
        put ??= copy.prepare(`INSERT INTO ${name} VALUES (${values.map(() => '?').join(', ')})`);
        put.run(...values);
      }
    }
    copy.pragma(`user_version = ${SCHEMA_VERSION}`);
  });
  return copy;
}

export function removeDatabase(path: string): void {
  for (const name of [path, `${path}-wal`, `${path}-shm`, cleanMarkPath(path)]) {
    rmSync(name, { force: true });
  }
}

function prepareSchema(db: Database): void {
  const version = db.pragma('user_version');
  if (version === SCHEMA_VERSION) return;
  const tables = firstColumn(db.prepare('SELECT count(*) FROM sqlite_master').get());
  if (version !== 0 || tables !== 0) throw new ShelfDamaged(`its schema is ${String(version)}`);
  db.transaction(() => {
    db.exec(MANIFEST_SQL + RUN_TABLES_SQL + CONTEXT_TABLES_SQL + NAME_TABLES_SQL);
    new ManifestTable(db).reset();
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  });
}

/** `unmarked`: the file was not closed cleanly, or is too large for a mark. */
type CleanMark = 'good' | 'bad' | 'unmarked';

/** Tells whether the file is unchanged since it was closed, and removes the mark: from now on the file may change. */
export function takeCleanMark(path: string): CleanMark {
  const markPath = cleanMarkPath(path);
  if (!existsSync(markPath)) return 'unmarked';
  const mark = readFileSync(markPath, 'latin1');
  rmSync(markPath);
  return isSmall(path) && mark === hashBytes(readFileSync(path)) ? 'good' : 'bad';
}

/** Call this when the file is closed and will not change. */
export function leaveCleanMark(path: string): void {
  if (!isSmall(path)) return;
  try {
    writeFileSync(cleanMarkPath(path), hashBytes(readFileSync(path)), { mode: 0o600 });
  } catch {
    // There is no room. Without the mark, the next opening checks for itself. Half a mark would indicate damage.
    rmSync(cleanMarkPath(path), { force: true });
  }
}

export function isSmall(path: string): boolean {
  return existsSync(path) && statSync(path).size <= CHECKED_BYTES_MAX;
}

export function cleanMarkPath(path: string): string {
  return `${path}-clean`;
}
