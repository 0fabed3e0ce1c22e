import type BetterDatabase from 'better-sqlite3';
import { loadNative } from './load-native.ts';
import { MEMORY } from './sqlite-binding.ts';
import type {
  ColumnStatement,
  Connect,
  Connection,
  OpenOptions,
  Statement,
} from './sqlite-binding.ts';

// For a Node without SQLite. Loaded on demand: elsewhere the native module need not be there.

export function betterSqlite(): Connect {
  const open = loadNative('better-sqlite3', (Open: typeof BetterDatabase) => {
    new Open(MEMORY).close();
    return Open;
  });
  return (path, options) => new BetterConnection(open, path, options);
}

class BetterConnection implements Connection {
  readonly #database: BetterDatabase.Database;
  readonly readsWholeTexts = true;

  constructor(
    Open: typeof BetterDatabase,
    path: string,
    { access, busyMs }: Required<OpenOptions>,
  ) {
    this.#database = new Open(path, {
      readonly: access === 'read',
      fileMustExist: access !== 'create',
      timeout: busyMs,
    });
  }

  get isOpen(): boolean {
    return this.#database.open;
  }

  get inTransaction(): boolean {
    return this.#database.inTransaction;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  prepare(sql: string): Statement {
    return this.#database.prepare(sql);
  }

  prepareColumn(sql: string): ColumnStatement {
    return this.#database.prepare(sql).pluck();
  }

  pragma(sql: string): unknown {
    return this.#database.pragma(sql, { simple: true });
  }

  async backup(path: string): Promise<void> {
    await this.#database.backup(path);
  }

  close(): void {
    this.#database.close();
  }
}
