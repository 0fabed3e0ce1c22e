import type { Database } from '../../../postgres/database.ts';
import { prepared, type Statement } from '../../../postgres/sql.ts';
import { SQL_LEASED, toStored } from '../tables/schema.ts';

// Leases decide which worker may run the handler of a consumer, by the database's clock.
// Invariants
// - At most one lease of a consumer is alive at any time. Each lease has a higher fence than all before it.
// - Only the holder of the newest lease changes anything: a statement from an earlier holder finds another fence.

/** Consumers that may have something to handle, and that nobody handles. Sorted by name, after a given one. */
const DUE = `
  SELECT consumer.queue, consumer_id, filter, last_acked_id, bookmark_from, bookmark_to
  FROM quipu.queues JOIN quipu.queue_consumers AS consumer ON consumer.queue = queues.queue
  WHERE handler_cmd IS NOT NULL AND NOT ${SQL_LEASED}
    AND last_id > last_acked_id AND last_id > waits_after
    AND NOT (bookmark_to >= last_id AND last_acked_id >= bookmark_from)
    AND (retry_at IS NULL OR retry_at <= clock_timestamp())`;
const DUE_OF_QUEUE = prepared('queue-due-of-queue')`
  ${DUE} AND queues.queue = $1 AND consumer.queue = $1 AND consumer_id > $2
  ORDER BY consumer_id LIMIT $3`;
const DUE_OF_ALL = prepared('queue-due-of-all')`
  ${DUE} AND (consumer.queue, consumer_id) > ($1, $2)
  ORDER BY consumer.queue, consumer_id LIMIT $3`;
// A holder has a name that no other lease has. The same name again is the same lease, whose answer was lost.
const ACQUIRE = prepared('queue-lease-acquire')`
  UPDATE quipu.queue_consumers SET holder = $3, fence = fence + 1,
    expires_at = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE queue = $1 AND consumer_id = $2 AND (NOT ${SQL_LEASED} OR holder = $3)
  RETURNING fence`;
const RENEW = prepared('queue-lease-renew')`
  UPDATE quipu.queue_consumers SET expires_at = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE queue = $1 AND consumer_id = $2 AND fence = $3 AND holder IS NOT NULL
  RETURNING fence`;
const READ = prepared('queue-lease-read')`
  SELECT handler_cmd, filter, last_acked_id, bookmark_from, bookmark_to, failures, failed, last_id
  FROM quipu.queue_consumers AS consumer JOIN quipu.queues ON queues.queue = consumer.queue
  WHERE consumer.queue = $1 AND consumer_id = $2 AND fence = $3`;
const RELEASE = prepared('queue-lease-release')`
  UPDATE quipu.queue_consumers SET holder = NULL, expires_at = NULL,
    failures = $4, failed = $5, last_error = $6, waits_after = $8,
    retry_at = clock_timestamp() + $7::bigint * interval '1 millisecond'
  WHERE queue = $1 AND consumer_id = $2 AND fence = $3`;
const LET_GO = prepared('queue-lease-let-go')`
  UPDATE quipu.queue_consumers SET holder = NULL, expires_at = NULL
  WHERE queue = $1 AND consumer_id = $2 AND fence = $3`;

/** For tests that look at the query plans. */
export const LEASE_STATEMENTS: readonly Statement[] = [
  DUE_OF_QUEUE,
  ACQUIRE,
  RENEW,
  READ,
  RELEASE,
  LET_GO,
];

export interface DueRow {
  readonly queue: string;
  readonly consumer_id: string;
  readonly filter: string | null;
  readonly last_acked_id: number;
  readonly bookmark_from: number;
  readonly bookmark_to: number;
}

export interface Lease {
  readonly queue: string;
  readonly consumer_id: string;
  readonly fence: number;
}

export interface LeasedRow extends Omit<DueRow, 'queue' | 'consumer_id'> {
  /** Null: the consumer is no longer subscribed. */
  readonly handler_cmd: string | null;
  readonly failures: number;
  readonly failed: boolean;
  /** The newest event. */
  readonly last_id: number;
}

/** The new state of a consumer after its handler has ended. */
export interface Outcome {
  readonly failures: number;
  readonly failed: boolean;
  readonly lastError: string | null;
  /** The next run waits at least this long. Null: it may start at once. */
  readonly retryInMs: number | null;
  /** The next run waits for an event after this one. */
  readonly waitsAfter: number;
}

const PAGE = 500;

export class LeaseTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The due consumers of one queue, or of all. */
  async *due(queue?: string): AsyncGenerator<DueRow, void, undefined> {
    let [lastQueue, lastConsumer] = [queue ?? '', ''];
    for (;;) {
      const statement = queue === undefined ? DUE_OF_ALL : DUE_OF_QUEUE;
      const values = [lastQueue, lastConsumer, PAGE];
      const rows = await this.#database.query<DueRow>(statement, values);
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      [lastQueue, lastConsumer] = [last.queue, last.consumer_id];
    }
  }

  /** Resolves with undefined when another worker has the lease. */
  async acquire(
    { queue, consumer_id }: Pick<DueRow, 'queue' | 'consumer_id'>,
    holder: string,
    leaseMs: number,
  ): Promise<Lease | undefined> {
    const values = [queue, consumer_id, holder, leaseMs];
    const [row] = await this.#database.query<{ fence: number }>(ACQUIRE, values);
    return row && { queue, consumer_id, fence: row.fence };
  }

  /** Resolves with false when the lease is over. */
  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    const rows = await this.#database.query(RENEW, [...keyOf(lease), leaseMs]);
    return rows.length > 0;
  }

  /** Resolves with undefined when the lease is over. */
  async read(lease: Lease): Promise<LeasedRow | undefined> {
    const [row] = await this.#database.query<LeasedRow>(READ, keyOf(lease));
    return row;
  }

  async release(lease: Lease, outcome: Outcome): Promise<void> {
    const { failures, failed, lastError, retryInMs, waitsAfter } = outcome;
    const error = lastError === null ? null : toStored(lastError);
    const values = [...keyOf(lease), failures, failed, error, retryInMs, waitsAfter];
    await this.#database.query(RELEASE, values);
  }

  /** Releases the lease as if the handler had not run. */
  async letGo(lease: Lease): Promise<void> {
    await this.#database.query(LET_GO, keyOf(lease));
  }
}

function keyOf({ queue, consumer_id, fence }: Lease): unknown[] {
  return [queue, consumer_id, fence];
}
