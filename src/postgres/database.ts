import pg from 'pg';
import { QuipuError, unsupported } from '../base/errors.ts';
import { Wording, ask, type Sql, type Statement } from './sql.ts';
import { type Address, parseAddress } from './address.ts';
import { failureOf, toPgError } from './pg-error.ts';
import {
  beginning,
  newToken,
  runTransaction,
  settleToken,
  type Transaction,
} from './transaction.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { pauseMs } from '../base/retry.ts';

// One database and the connections to it. Every call gets an answer or an error with a stable code. Short absences
// of the server go unnoticed: work that was certainly not carried out is repeated.

export interface DatabaseOptions {
  /** Connections at most. Default 10. */
  readonly connections?: number;
  /** The time to wait for a connection. Default 10 seconds. */
  readonly connectMs?: number;
  /** The time limit of a statement. Default 60 seconds. */
  readonly statementMs?: number;
  /** The time to keep retrying while the server is away. Default 20 seconds. */
  readonly patienceMs?: number;
}

/** The tokens of decided transactions are kept this long, for clients that lost the connection. */
const PRUNE_AFTER_MS = 24 * 3600 * 1000;
const PRUNE_EVERY = 4096;
/** Reads hold no locks that block others, but the server keeps their snapshot for them. */
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
    // The connection sends no settings: poolers refuse unknown settings or silently ignore them.
    this.#config = {
      connectionString: this.address.connection,
      application_name: 'quipu',
      connectionTimeoutMillis: connectMs,
      // This limit is for a server that does not answer at all, not even with a timeout.
      query_timeout: statementMs + connectMs,
      keepAlive: true,
      pipeline: true,
      types: { getTypeParser: parserOf },
    };
    // Connections that nobody uses do not keep the process alive, as an open folder does not.
    this.#pool = new pg.Pool({ ...this.#config, max: connections, allowExitOnIdle: true });
    // A connection that breaks while idle is replaced at the next request.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /** The address for messages, without the password. */
  get name(): string {
    return this.address.name;
  }

  /** From now on every connection must lead to this store. */
  expect(store: string): void {
    this.#store = store;
  }

  /** Checks a store id that was read together with rows: a pooler may lead elsewhere since the greeting. */
  assertStore(found: string): void {
    if (this.#store !== undefined) assertStore(this.name, this.#store, found);
  }

  /**
   * Runs one statement by itself. The statement is repeated when the connection is lost, so it must be safe to
   * repeat.
   */
  async query<R extends object>(
    statement: Statement | string,
    values: readonly unknown[] = [],
  ): Promise<readonly R[]> {
    return this.#repeatedly((client) => ask<R>(client, this.#wording, statement, values));
  }

  /** Runs reads on one snapshot. The reads may be repeated from the start. */
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
   * Carries out a transaction exactly once, however often the connection is lost. The transaction writes a token,
   * which tells afterwards whether it was committed. `work` may run several times, and must have no effect outside
   * the transaction.
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

  /**
   * Calls back for every notification until the returned function is called, on as many connections of its own as needed.
   * Trusts `channel` to be a plain name. A notification is a hint: a caller that must not miss one polls from time to
   * time.
   */
  listen(channel: string, listening: Listening): () => Promise<void> {
    const ended = new AbortController();
    const running = this.#listen(channel, listening, ended.signal);
    return async () => {
      ended.abort();
      await running;
    };
  }

  async #listen(channel: string, listening: Listening, signal: AbortSignal): Promise<void> {
    let patience = new Patience(FOREVER);
    while (!signal.aborted) {
      const client = new pg.Client(this.#config);
      let isGone: () => void = () => undefined;
      const gone = new Promise<void>((resolve) => {
        isGone = resolve;
        client.on('error', isGone);
        client.on('end', isGone);
        signal.addEventListener('abort', isGone, { once: true });
      });
      client.on('notification', ({ payload = '' }) => listening.heard(payload));
      try {
        await client.connect();
        await client.query(`LISTEN ${channel}`);
        patience = new Patience(FOREVER);
        listening.began();
        await gone;
      } catch {
        // The server is away. The listener learns of the gap by the next `began`.
      }
      // The signal outlives many connections.
      signal.removeEventListener('abort', isGone);
      await client.end().catch(() => undefined);
      if (!signal.aborted) await patience.pause(signal);
    }
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
        // The connection may be in any state. A new connection costs less than finding out.
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

  /** True when the transaction with this token was committed. After this call the outcome is final. */
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
      `${this.name}: the connection was lost during a commit, so its outcome is unknown: look whether it is there, or retry with the same idempotency key`,
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
    // Old tokens do no harm. After a failure here the next run removes them.
    this.query('DELETE FROM quipu.transactions WHERE token < $1', [before]).catch(() => undefined);
  }
}

const BIGINT_OID = 20;

/** Ids stay below 2^53, so a number holds them. */
function parserOf(oid: number, format?: 'text' | 'binary'): unknown {
  return oid === BIGINT_OID ? Number : pg.types.getTypeParser(oid, format as 'text');
}

export interface Greeting {
  /** The database, without its password. */
  readonly name: string;
  readonly wording: Wording;
  /** The time limit of a statement. */
  readonly statementMs: number;
  /** The store that all connections must lead to, once it is known. */
  readonly store: string | undefined;
}

/**
 * Runs before anything else on a connection. The statement timeout is set only on a direct connection, because a
 * pooler would pass the setting on to others. A direct connection has the process id that the server reports.
 */
export async function greet(client: pg.ClientBase, greeting: Greeting): Promise<void> {
  const { name, wording, statementMs, store } = greeting;
  const own = (client as unknown as { readonly processID: number | null }).processID ?? 0;
  const found = store === undefined ? 'NULL' : '(SELECT store FROM quipu.clock)';
  const [row] = await ask<{ store: string | null }>(
    client,
    wording,
    `SELECT ${found} AS store,
      CASE WHEN pg_backend_pid() = ${own} THEN set_config('statement_timeout', '${statementMs}', false) END`,
  );
  if (store !== undefined) assertStore(name, store, row?.store ?? 'none');
}

/** Throws UNSUPPORTED when the connection leads to another store. */
export function assertStore(name: string, expected: string, found: string): void {
  if (found === expected) return;
  throw unsupported(
    'store',
    found,
    `${name}: a connection leads to another store (${found}) than the one that was opened (${expected}); let the pooler or balancer in between send all connections to one database, or open the store again`,
  );
}

interface Listening {
  heard(payload: string): void;
  /** Called when listening begins, and again after every gap: something may have been missed. */
  began(): void;
}

const FOREVER = Number.MAX_SAFE_INTEGER;

/** A retry deadline, with pauses that grow. */
class Patience {
  readonly #deadline: number;
  #attempts = 0;

  constructor(forMs: number) {
    this.#deadline = Date.now() + forMs;
  }

  /**
   * Never true before a second attempt: a process that was itself suspended has made one attempt and used all its
   * time.
   */
  get isOver(): boolean {
    return this.#attempts > 0 && Date.now() >= this.#deadline;
  }

  async pause(signal?: AbortSignal): Promise<void> {
    const given = signal === undefined ? {} : { signal };
    // An abort only ends the pause. The code that aborts knows why.
    await sleep(pauseMs(this.#attempts), undefined, given).catch(() => undefined);
    this.#attempts += 1;
  }
}
