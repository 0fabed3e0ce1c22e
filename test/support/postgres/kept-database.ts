import { Database } from '../../../src/postgres/database.ts';
import type { Sql, Statement } from '../../../src/postgres/sql.ts';
import type { Transaction } from '../../../src/postgres/transaction.ts';

/**
 * For many engines, one after the other. A connection takes longer to make, and what it learns about the tables
 * longer to learn, than most tests take. An engine that closes it leaves when all it asked for is done.
 */
export class KeptDatabase extends Database {
  readonly #running: Set<Promise<unknown>> = new Set();

  override query<R extends object>(
    statement: Statement | string,
    values: readonly unknown[] = [],
  ): Promise<readonly R[]> {
    return this.#track(super.query<R>(statement, values));
  }

  override read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#track(super.read(work));
  }

  override write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#track(super.write(work));
  }

  override async close(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async end(): Promise<void> {
    await super.close();
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }
}
