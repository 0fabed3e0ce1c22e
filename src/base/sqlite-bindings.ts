import { pathToFileURL } from 'node:url';
import type BetterDatabase from 'better-sqlite3';
import { loadNative } from './load-native.ts';

export interface RunResult {
  readonly changes: number | bigint;
  readonly lastInsertRowid: number | bigint;
}

/** Parameters are values in order, or one object for names such as `@id`, which has each of the names and no other. */
export interface Statement<P extends unknown[] = unknown[], R = unknown> {
  /** True while `iterate` has not ended. The statement cannot be used meanwhile: prepare another. */
  readonly busy: boolean;
  run(...params: P): RunResult;
  get(...params: P): R | undefined;
  all(...params: P): R[];
  iterate(...params: P): IterableIterator<R>;
}

/** A statement that is asked for its first column alone: a row of one number takes a third of the time of an object. */
export interface ColumnStatement {
  get(...params: unknown[]): unknown;
  all(...params: unknown[]): unknown[];
}

export interface OpenOptions {
  /** The time that a call waits for a lock of another connection. The default is 5,000. */
  readonly busyMs?: number;
  /** `create`, the default, makes a missing file; `write` and `read` do not. */
  readonly access?: 'create' | 'write' | 'read';
}

/** The contract of a binding. `Database` in sqlite.ts builds on it. */
export interface Connection {
  readonly isOpen: boolean;
  readonly inTransaction: boolean;
  /** False: a text with a NUL is read up to the NUL. */
  readonly readsWholeTexts: boolean;
  exec(sql: string): void;
  prepare(sql: string): Statement;
  prepareColumn(sql: string): ColumnStatement;
  pragma(sql: string): unknown;
  backup(path: string): Promise<void>;
  close(): void;
}

export type Connect = (path: string, options: Required<OpenOptions>) => Connection;

/** SQLite's name for a database that has no file. */
export const MEMORY = ':memory:';

/** Has the name of SQLite's result code, such as `SQLITE_FULL`, some with the extension: `SQLITE_READONLY_DBMOVED`. */
export class SqliteError extends Error {
  readonly code: string;

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SqliteError';
    this.code = code;
  }
}

/** The first column of a row: for statements that ask for one value. */
export function firstColumn(row: unknown): unknown {
  for (const name in row as object) return (row as Record<string, unknown>)[name];
  return undefined;
}

// SQLite of Node itself. The types of Node 20 do not declare it.

interface NodeSqlite {
  readonly DatabaseSync: new (path: string | URL, options: { readOnly: boolean }) => DatabaseSync;
  backup(from: DatabaseSync, to: string): Promise<number>;
}

interface DatabaseSync {
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): StatementSync;
  close(): void;
}

interface StatementSync {
  run(...params: unknown[]): RunResult;
  get(...params: unknown[]): object | undefined;
  all(...params: unknown[]): object[];
  iterate(...params: unknown[]): IterableIterator<object>;
  setReadBigInts(on: boolean): void;
}

/** Undefined when this Node has no SQLite, or one without `backup` and FTS5: both came with Node 22.16. */
export function builtinSqlite(): Connect | undefined {
  const sqlite = loadQuietly();
  if (sqlite === undefined || !('backup' in sqlite)) return undefined;
  return (path, options) => connectBuiltin(sqlite as NodeSqlite, path, options);
}

function connectBuiltin(
  sqlite: NodeSqlite,
  path: string,
  { access, busyMs }: Required<OpenOptions>,
): Connection {
  const address = toAddress(path, access);
  const database = inWords(() => new sqlite.DatabaseSync(address, { readOnly: access === 'read' }));
  const exec = (sql: string): void => inWords(() => database.exec(sql));
  const prepare = (sql: string): Statement =>
    new BuiltinStatement(inWords(() => database.prepare(sql)));
  exec(`PRAGMA busy_timeout = ${busyMs}`);
  return {
    get isOpen() {
      return database.isOpen;
    },
    get inTransaction() {
      return database.isTransaction;
    },
    get readsWholeTexts() {
      wholeTexts ??= readsWholeTexts(sqlite);
      return wholeTexts;
    },
    exec,
    prepare,
    prepareColumn(sql) {
      const statement = prepare(sql);
      return {
        get: (...params) => firstColumn(statement.get(...params)),
        all: (...params) => statement.all(...params).map(firstColumn),
      };
    },
    pragma: (sql) => firstColumn(inWords(() => database.prepare(`PRAGMA ${sql}`).get())),
    async backup(to) {
      try {
        await sqlite.backup(database, to);
      } catch (error) {
        throw toSqliteError(error);
      }
    },
    close() {
      if (database.isOpen) database.close();
    },
  };
}

/** Without the warning that the module is experimental: it would be on every command, and nobody can act on it. */
function loadQuietly(): object | undefined {
  const emitWarning = Object.getOwnPropertyDescriptor(process, 'emitWarning') ?? {};
  process.emitWarning = () => undefined;
  try {
    return process.getBuiltinModule('node:sqlite');
  } finally {
    Object.defineProperty(process, 'emitWarning', emitWarning);
  }
}

let wholeTexts: boolean | undefined;

/** No Node 22 does, and Node 24 learned it on the way. */
function readsWholeTexts({ DatabaseSync }: NodeSqlite): boolean {
  const database = new DatabaseSync(MEMORY, { readOnly: false });
  const row = database.prepare('SELECT char(97, 0, 98) AS text').get();
  database.close();
  return (row as { text: string }).text.length === 3;
}

class BuiltinStatement implements Statement {
  readonly #statement: StatementSync;
  #busy = false;

  constructor(statement: StatementSync) {
    this.#statement = statement;
  }

  get busy(): boolean {
    return this.#busy;
  }

  run(...params: unknown[]): RunResult {
    return inWords(() => this.#statement.run(...params));
  }

  get(...params: unknown[]): object | undefined {
    try {
      return this.#statement.get(...params);
    } catch (error) {
      if (!isTooLarge(error)) throw toSqliteError(error);
      return this.#roundly(() => {
        const row = this.#statement.get(...params);
        return row && roundRow(row);
      });
    }
  }

  all(...params: unknown[]): object[] {
    try {
      return this.#statement.all(...params);
    } catch (error) {
      if (!isTooLarge(error)) throw toSqliteError(error);
      return this.#roundly(() => this.#statement.all(...params).map(roundRow));
    }
  }

  *iterate(...params: unknown[]): IterableIterator<object> {
    this.#busy = true;
    let given = 0;
    try {
      for (const row of this.#statement.iterate(...params)) {
        given += 1;
        yield row;
      }
    } catch (error) {
      if (!isTooLarge(error)) throw toSqliteError(error);
      // The statement has passed the row.
      this.#statement.setReadBigInts(true);
      for (const row of this.#statement.iterate(...params)) {
        given -= 1;
        if (given < 0) yield roundRow(row);
      }
    } finally {
      this.#statement.setReadBigInts(false);
      this.#busy = false;
    }
  }

  /**
   * Reads integers beyond the safe ones, of which there are none in a healthy file, as the nearest number. Node would
   * throw.
   */
  #roundly<T>(read: () => T): T {
    this.#statement.setReadBigInts(true);
    try {
      return inWords(read);
    } finally {
      this.#statement.setReadBigInts(false);
    }
  }
}

function roundRow(row: object): object {
  const values = Object.entries(row) as [string, unknown][];
  return Object.fromEntries(
    values.map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
  );
}

function isTooLarge(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ERR_OUT_OF_RANGE';
}

/** An address says more than a path does: that the file must be there. */
function toAddress(path: string, access: Required<OpenOptions>['access']): string | URL {
  if (path === MEMORY) return path;
  const address = pathToFileURL(path);
  address.search = access === 'write' ? 'mode=rw' : '';
  return address;
}

function inWords<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw toSqliteError(error);
  }
}

/** Names of result codes by number: https://sqlite.org/rescode.html. */
const PRIMARY =
  `OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL
  CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB`.split(
    /\s+/,
  );
const EXTENDED: Readonly<Record<number, string>> = {
  266: 'IOERR_READ',
  522: 'IOERR_SHORT_READ',
  778: 'IOERR_WRITE',
  1034: 'IOERR_FSYNC',
  1032: 'READONLY_DBMOVED',
};

function toSqliteError(error: unknown): unknown {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (code !== 'ERR_SQLITE_ERROR' || typeof errcode !== 'number') return error;
  const name = EXTENDED[errcode] ?? PRIMARY[errcode & 0xff] ?? String(errcode);
  return new SqliteError((error as Error).message, `SQLITE_${name}`, { cause: error });
}

// For a Node without SQLite. Loaded on demand: elsewhere the native module need not be there.

export function betterSqlite(): Connect {
  const Open = loadNative('better-sqlite3', (Loaded: typeof BetterDatabase) => {
    new Loaded(MEMORY).close();
    return Loaded;
  });
  return (path, { access, busyMs }) => {
    const database = new Open(path, {
      readonly: access === 'read',
      fileMustExist: access !== 'create',
      timeout: busyMs,
    });
    return {
      readsWholeTexts: true,
      get isOpen() {
        return database.open;
      },
      get inTransaction() {
        return database.inTransaction;
      },
      exec: (sql) => void database.exec(sql),
      prepare: (sql) => database.prepare(sql),
      prepareColumn: (sql) => database.prepare(sql).pluck(),
      pragma: (sql) => database.pragma(sql, { simple: true }),
      backup: async (to) => void (await database.backup(to)),
      close: () => void database.close(),
    };
  };
}
