import pg from 'pg';
import { QuipuError } from '../base/errors.ts';
import { ask } from './ask.ts';
import { type Address, parseAddress } from './address.ts';
import { assertStore, greet } from './greet.ts';
import { listen, type Listening } from './listen.ts';
import { failureOf, toPgError } from './pg-error.ts';
import { Patience } from './patience.ts';
import type { Sql, Statement } from './sql.ts';
import {
  beginning,
  newToken,
  runTransaction,
  settleToken,
  type Transaction,
} from './transaction.ts';
import { Wording } from './wording.ts';

// One database and the connections to it. Whoever asks gets an answer or a stable code, and short
// absences of the server pass unnoticed: what was certainly not carried out is carried out again.

export interface DatabaseOptions {
  /** Connections at most. Default 10. */
  readonly connections?: number;
  /** How long to wait for a connection. Default 10 seconds. */
  readonly connectMs?: number;
  /** How long a statement may take. Default 60 seconds. */
  readonly statementMs?: number;
  /** How long to go on trying while the server is away. Default 20 seconds. */
  readonly patienceMs?: number;
}

/** Transactions whose outcome is certain are remembered this long for those who lost the connection. */
const PRUNE_AFTER_MS = 24 * 3600 * 1000;
const PRUNE_EVERY = 4096;
/** Reads hold no locks that anybody waits for, but what they see is kept for them. */
const READ_IDLE_MS = 30_000;

export class Database implements Sql {
  readonly address: Address;
  readonly #options: Required<DatabaseOptions>;
  readonly #config: pg.ClientConfig;
  readonly #pool: pg.Pool;
  readonly #wording: Wording;
  /** The store that each connection was found to lead to. */
  readonly #greeted: WeakMap<pg.PoolClient, string | undefined> = new WeakMap();
  #store: string | undefined;
  #writes = 0;
  #ending: Promise<void> | undefined;

  constructor(url: string, options: DatabaseOptions = {}) {
    const { connections = 10, connectMs = 10_000, statementMs = 60_000 } = options;
    const { patienceMs = 20_000 } = options;
    this.address = parseAddress(url);
    this.#wording = new Wording(this.address.schema);
    this.#options = { connections, connectMs, statementMs, patienceMs };
    // No settings: poolers refuse those they do not know, or pass over them in silence.
    this.#config = {
      connectionString: this.address.connection,
      application_name: 'quipu',
      connectionTimeoutMillis: connectMs,
      // A server that does not answer at all, not even that the time is up.
      query_timeout: statementMs + connectMs,
      keepAlive: true,
      pipeline: true,
      types: { getTypeParser: parserOf },
    };
    this.#pool = new pg.Pool({ ...this.#config, max: connections });
    // A connection that breaks while nobody uses it is replaced when somebody asks.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /** For messages: without the password. */
  get name(): string {
    return this.address.name;
  }

  /** From now on every connection must lead to this store. */
  expect(store: string): void {
    this.#store = store;
  }

  /** For what was read with the rows themselves: a pooler may have been led elsewhere since it was greeted. */
  assertStore(found: string): void {
    if (this.#store !== undefined) assertStore(this.name, this.#store, found);
  }

  /** One statement by itself. It is repeated when the connection was lost, so it must be one that may be. */
  async query<R extends object>(
    statement: Statement | string,
    values: readonly unknown[] = [],
  ): Promise<readonly R[]> {
    return this.#repeatedly((client) => ask<R>(client, this.#wording, statement, values));
  }

  /** Reads that see one moment. They may be repeated from the start. */
  async read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#repeatedly(async (client) => {
      const { statementMs } = this.#options;
      await client.query(beginning('REPEATABLE READ READ ONLY', statementMs, READ_IDLE_MS));
      const result = await work({ query: (...given) => ask(client, this.#wording, ...given) });
      await client.query('COMMIT');
      return result;
    });
  }

  /**
   * A transaction that is carried out exactly once, however often the connection is lost: it leaves a token,
   * which tells afterwards whether it was committed. `work` may run several times, and must leave nothing
   * behind but what it tells the transaction.
   */
  async write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const patience = new Patience(this.#options.patienceMs);
    for (;;) {
      const token = newToken(Date.now());
      const client = await this.#acquire(patience);
      const terms = { token, wording: this.#wording, statementMs: this.#options.statementMs };
      const done = await runTransaction(client, terms, work);
      client.release(done.outcome !== 'committed' && done.broken);
      if (done.outcome === 'committed') {
        this.#pruneSometimes();
        return done.value;
      }
      if (done.outcome === 'unknown') {
        if (await this.#settle(token, patience, done.error)) return done.value;
      } else if (failureOf(done.error) === 'refused') {
        throw this.#toError(done.error);
      }
      await this.#pause(patience, done.error);
    }
  }

  /** Calls back for every notification, on a connection of its own. */
  listen(channel: string, ears: Listening): () => Promise<void> {
    return listen(() => new pg.Client(this.#config), channel, ears);
  }

  async close(): Promise<void> {
    this.#ending ??= this.#pool.end();
    await this.#ending;
  }

  async #repeatedly<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const patience = new Patience(this.#options.patienceMs);
    for (;;) {
      const client = await this.#acquire(patience);
      try {
        const result = await work(client);
        client.release();
        return result;
      } catch (error) {
        // Whatever state it is in: a new one costs less than finding out.
        client.release(true);
        if (failureOf(error) === 'refused') throw this.#toError(error);
        await this.#pause(patience, error);
      }
    }
  }

  async #acquire(patience: Patience): Promise<pg.PoolClient> {
    for (;;) {
      if (this.#ending !== undefined) {
        throw new QuipuError('CLOSED', `${this.name} was closed`, { what: 'database' });
      }
      try {
        return await this.#connect();
      } catch (error) {
        if (failureOf(error) !== 'lost') throw this.#toError(error);
        await this.#pause(patience, error);
      }
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    const client = await this.#pool.connect();
    if (this.#greeted.has(client) && this.#greeted.get(client) === this.#store) return client;
    const store = this.#store;
    const { statementMs } = this.#options;
    try {
      await greet(client, { name: this.name, wording: this.#wording, statementMs, store });
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#greeted.set(client, store);
    return client;
  }

  /** True when the transaction with this token was committed. After it, it is decided for good. */
  async #settle(token: string, patience: Patience, lost: unknown): Promise<boolean> {
    for (;;) {
      let client: pg.PoolClient | undefined;
      try {
        client = await this.#connect();
        const committed = await settleToken(client, this.#wording, token);
        client.release();
        return committed;
      } catch {
        client?.release(true);
        if (patience.isOver) throw this.#unknown(lost);
        await patience.pause();
      }
    }
  }

  async #pause(patience: Patience, error: unknown): Promise<void> {
    if (patience.isOver) throw this.#toError(error);
    await patience.pause();
  }

  #unknown(error: unknown): QuipuError {
    return new QuipuError(
      'UNAVAILABLE',
      `${this.name}: the connection was lost during a commit, and nobody answers what became of it`,
      { what: this.name, outcome: 'unknown' },
      { cause: error },
    );
  }

  #toError(error: unknown): unknown {
    return toPgError(error, { name: this.name, statementMs: this.#options.statementMs });
  }

  #pruneSometimes(): void {
    this.#writes += 1;
    if (this.#writes % PRUNE_EVERY !== 0) return;
    const before = newToken(Date.now() - PRUNE_AFTER_MS);
    // Old tokens are in nobody's way: a failure here is made good next time.
    this.query('DELETE FROM quipu.transactions WHERE token < $1', [before]).catch(() => undefined);
  }
}

const BIGINT_OID = 20;

/** Ids stay below 2^53, so a number holds them. */
function parserOf(oid: number, format?: 'text' | 'binary'): unknown {
  return oid === BIGINT_OID ? Number : pg.types.getTypeParser(oid, format as 'text');
}
