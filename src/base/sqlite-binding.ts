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
