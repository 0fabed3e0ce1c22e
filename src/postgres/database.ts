import pg from 'pg';
import { QuipuError } from '../base/errors.ts';
import { type Address, parseAddress } from './address.ts';
import { listen, type Listening } from './listen.ts';
import { failureOf, toPgError } from './pg-error.ts';
import { Patience } from './patience.ts';
import { ask, type Sql, type Statement } from './sql.ts';
import { newToken, runTransaction, settleToken, type Transaction } from './transaction.ts';

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
/** A peer that vanished in the middle of a transaction must not hold its locks for long. */
const IDLE_IN_TRANSACTION_MS = 30_000;

export class Database implements Sql {
  readonly address: Address;
  readonly #options: Required<DatabaseOptions>;
  readonly #config: pg.ClientConfig;
  readonly #pool: pg.Pool;
  #writes = 0;
  #ending: Promise<void> | undefined;

  constructor(url: string, options: DatabaseOptions = {}) {
    const { connections = 10, connectMs = 10_000, statementMs = 60_000 } = options;
    const { patienceMs = 20_000 } = options;
    this.address = parseAddress(url);
    this.#options = { connections, connectMs, statementMs, patienceMs };
    this.#config = {
      connectionString: this.address.connection,
      options: `-c search_path=${this.address.schema}`,
      application_name: 'quipu',
      connectionTimeoutMillis: connectMs,
      statement_timeout: statementMs,
      // A server that does not answer at all, not even that the time is up.
      query_timeout: statementMs + connectMs,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
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

  /** One statement by itself. It is repeated when the connection was lost, so it must be one that may be. */
  async query<R extends object>(
    statement: Statement | string,
    values: readonly unknown[] = [],
  ): Promise<readonly R[]> {
    return this.#repeatedly((client) => ask<R>(client, statement, values));
  }

  /** Reads that see one moment. They may be repeated from the start. */
  async read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#repeatedly(async (client) => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const result = await work({ query: (...given) => ask(client, ...given) });
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
      const done = await runTransaction(client, token, work);
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
        return await this.#pool.connect();
      } catch (error) {
        if (failureOf(error) !== 'lost') throw this.#toError(error);
        await this.#pause(patience, error);
      }
    }
  }

  /** True when the transaction with this token was committed. After it, it is decided for good. */
  async #settle(token: string, patience: Patience, lost: unknown): Promise<boolean> {
    for (;;) {
      let client: pg.PoolClient | undefined;
      try {
        client = await this.#pool.connect();
        const committed = await settleToken(client, token);
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
    this.query('DELETE FROM transactions WHERE token < $1', [before]).catch(() => undefined);
  }
}

const BIGINT_OID = 20;

/** Ids stay below 2^53, so a number holds them. */
function parserOf(oid: number, format?: 'text' | 'binary'): unknown {
  return oid === BIGINT_OID ? Number : pg.types.getTypeParser(oid, format as 'text');
}
