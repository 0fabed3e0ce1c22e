import {
  betterSqlite,
  type ColumnStatement,
  type Connect,
  type Connection,
  type OpenOptions,
  type Statement,
  builtinSqlite,
} from './sqlite-bindings.ts';

export { MEMORY, SqliteError, firstColumn } from './sqlite-bindings.ts';
export type { ColumnStatement, Statement } from './sqlite-bindings.ts';

// The one door to SQLite: `node:sqlite` from Node 22.16 on, `better-sqlite3` before. Nothing else imports either.
// Promises, on both
// - Calls are synchronous. An error of SQLite has a `code` such as `SQLITE_BUSY` (see `isSqliteError`).
// - FTS5, JSON functions and foreign keys are there. Double quotes are for names only.
// - Rows are plain objects by column name. An integer is a number: exact up to 2^53, rounded beyond. A blob is a
//   Uint8Array. A text is whole if it is selected with `wholeText`; otherwise some Nodes cut it at a NUL.
// - A number may be bound as a real: columns of type INTEGER make an integer of it, `typeof(?)` does not.
// - A statement that is being iterated is `busy`. Leaving the loop early frees it.
// - What is open ends with `close`, statements too. Closing twice does nothing.

const BUSY_MS = 5000;

/** Loaded when the first database is opened: commands that open none start without it. */
let chosen: Connect | undefined;

function choose(): Connect {
  chosen ??= builtinSqlite() ?? betterSqlite();
  return chosen;
}

export class Database {
  readonly #connection: Connection;
  readonly #kept = new Map<string, Statement>();

  /** `connect` is another binding than the one that was chosen, for a test. */
  constructor(path: string, options: OpenOptions & { readonly connect?: Connect } = {}) {
    const { busyMs = BUSY_MS, access = 'create', connect = choose() } = options;
    this.#connection = connect(path, { busyMs, access });
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction;
  }

  /** Runs any number of statements that have no parameters. */
  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  prepare<P extends unknown[] = unknown[], R = unknown>(sql: string): Statement<P, R> {
    return this.#connection.prepare(sql) as Statement<P, R>;
  }

  /** A statement whose rows are the values of its first column. */
  prepareColumn(sql: string): ColumnStatement {
    return this.#connection.prepareColumn(sql);
  }

  /** Runs what follows the word PRAGMA. Returns the first value of its answer. */
  pragma(sql: string): unknown {
    return this.#connection.pragma(sql);
  }

  /**
   * Runs `work` as one transaction, which it rolls back if `work` throws. Within a transaction, `work` is part of it.
   * `immediate` takes the write lock first, so that the transaction cannot fail half-way for lack of it.
   */
  transaction<T>(work: () => T, begin: 'deferred' | 'immediate' = 'deferred'): T {
    if (this.inTransaction) return work();
    this.#run(`BEGIN ${begin}`);
    try {
      const result = work();
      this.#run('COMMIT');
      return result;
    } finally {
      // After a full disk SQLite may have rolled back by itself.
      if (this.inTransaction) this.#run('ROLLBACK');
    }
  }

  #run(sql: string): void {
    let statement = this.#kept.get(sql);
    if (statement === undefined) {
      statement = this.prepare(sql);
      this.#kept.set(sql, statement);
    }
    statement.run();
  }

  /** The expression that selects all of a text that may have a NUL in it. Give the value to `toText`. */
  wholeText(column: string): string {
    if (this.#connection.readsWholeTexts) return column;
    return `CASE instr(${column}, char(0)) WHEN 0 THEN ${column} ELSE CAST(${column} AS BLOB) END AS ${column}`;
  }

  /** Copies the database as it is at one moment, while it is in use, over what is at `path`. */
  async backup(path: string): Promise<void> {
    await this.#connection.backup(path);
  }

  close(): void {
    this.#connection.close();
  }
}

export function toText(selected: string | Uint8Array): string {
  return typeof selected === 'string' ? selected : Buffer.from(selected).toString();
}

export function isSqliteError(error: unknown): error is Error & { readonly code: string } {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('SQLITE_');
}
