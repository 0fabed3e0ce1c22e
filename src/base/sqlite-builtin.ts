import { pathToFileURL } from 'node:url';
import { MEMORY, SqliteError, firstColumn } from './sqlite-binding.ts';
import type {
  ColumnStatement,
  Connect,
  Connection,
  OpenOptions,
  RunResult,
  Statement,
} from './sqlite-binding.ts';

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
  return (path, options) => new BuiltinConnection(sqlite as NodeSqlite, path, options);
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

class BuiltinConnection implements Connection {
  readonly #sqlite: NodeSqlite;
  readonly #database: DatabaseSync;

  constructor(sqlite: NodeSqlite, path: string, { access, busyMs }: Required<OpenOptions>) {
    this.#sqlite = sqlite;
    this.#database = inWords(
      () => new sqlite.DatabaseSync(toAddress(path, access), { readOnly: access === 'read' }),
    );
    this.exec(`PRAGMA busy_timeout = ${busyMs}`);
  }

  get isOpen(): boolean {
    return this.#database.isOpen;
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  get readsWholeTexts(): boolean {
    wholeTexts ??= readsWholeTexts(this.#sqlite);
    return wholeTexts;
  }

  exec(sql: string): void {
    inWords(() => this.#database.exec(sql));
  }

  prepare(sql: string): Statement {
    return new BuiltinStatement(inWords(() => this.#database.prepare(sql)));
  }

  prepareColumn(sql: string): ColumnStatement {
    const statement = this.prepare(sql);
    return {
      get: (...params) => firstColumn(statement.get(...params)),
      all: (...params) => statement.all(...params).map(firstColumn),
    };
  }

  pragma(sql: string): unknown {
    return Object.values(inWords(() => this.#database.prepare(`PRAGMA ${sql}`).get()) ?? {})[0];
  }

  async backup(path: string): Promise<void> {
    try {
      await this.#sqlite.backup(this.#database, path);
    } catch (error) {
      throw toSqliteError(error);
    }
  }

  close(): void {
    if (this.isOpen) this.#database.close();
  }
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
