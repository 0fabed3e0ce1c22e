import { locked, type QuipuError } from '../../../base/errors.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared, type Statement } from '../../../postgres/sql.ts';
import type { FailedRun } from '../../dispatch/run-handler.ts';
import { isSubscribed, noSubscription, noSuchQueue } from '../../events/check-input.ts';
import type { Subscription } from '../../events/queue.ts';
import type { ConsumerRow, Bookmark, Known } from '../../events/scan.ts';
import { SQL_LEASED, SQL_NOW, fromStored, toStored } from './schema.ts';

// The consumers of one queue: one row holds everything known of one consumer. Facts that must be true together are read
// and written by one statement. If the statement had to wait for the row, it looks at the row again.

/** An acknowledgement counts when nobody holds the lease, or when the holder sends it. */
const ACKNOWLEDGE = prepared('queue-acknowledge')`
  UPDATE quipu.queue_consumers AS consumer SET last_acked_id = least($3, queues.last_id), updated_at = ${SQL_NOW}
  FROM quipu.queues
  WHERE consumer.queue = $1 AND consumer.consumer_id = $2 AND handler_cmd IS NOT NULL
    AND queues.queue = $1
    AND CASE WHEN $4::bigint IS NULL THEN NOT ${SQL_LEASED}
        ELSE fence = $4 AND holder IS NOT NULL END
  RETURNING filter, bookmark_from, bookmark_to, last_id`;
const LOOK = prepared('queue-look')`
  SELECT consumer_id IS NOT NULL AND handler_cmd IS NOT NULL AS subscribed, fence, holder,
    ${SQL_LEASED} AS leased
  FROM quipu.queues LEFT JOIN quipu.queue_consumers AS consumer
    ON consumer.queue = queues.queue AND consumer_id = $2
  WHERE queues.queue = $1`;
const SUBSCRIBE = prepared('queue-subscribe')`
  INSERT INTO quipu.queue_consumers AS consumer (queue, consumer_id, handler_cmd, filter)
  SELECT queue, $2, $3, $4 FROM quipu.queues WHERE queue = $1
  ON CONFLICT (queue, consumer_id) DO UPDATE SET handler_cmd = $3, filter = $4,
    bookmark_from = 0, bookmark_to = 0, failures = 0, failed = false, last_error = NULL,
    retry_at = NULL, waits_after = 0
  WHERE consumer.handler_cmd IS NULL
  RETURNING consumer_id`;
/** A lease stays with its holder: another handler may begin only when the holder has ended its own. */
const UNSUBSCRIBE = prepared('queue-unsubscribe')`
  UPDATE quipu.queue_consumers SET handler_cmd = NULL, filter = NULL, failures = 0, failed = false,
    last_error = NULL, retry_at = NULL
  WHERE queue = $1 AND consumer_id = $2 AND handler_cmd IS NOT NULL
  RETURNING consumer_id`;
/** Sets the bookmark only for a consumer that still has this filter: another filter makes the bookmark untrue. */
const SET_BOOKMARK = prepared('queue-set-bookmark')`
  UPDATE quipu.queue_consumers SET bookmark_from = $4, bookmark_to = $5
  WHERE queue = $1 AND consumer_id = $2 AND handler_cmd IS NOT NULL
    AND filter IS NOT DISTINCT FROM $3`;
const ALL = prepared('queue-consumers')`
  SELECT consumer_id, handler_cmd, filter, last_acked_id, updated_at, bookmark_from, bookmark_to,
    failures, failed, last_error, ${SQL_LEASED} AS leased
  FROM quipu.queue_consumers
  WHERE queue = $1 AND (handler_cmd IS NOT NULL OR updated_at IS NOT NULL)
  ORDER BY consumer_id`;

const FORGIVE = `UPDATE quipu.queue_consumers SET retry_at = NULL, waits_after = 0
  WHERE queue = $1 AND consumer_id = ANY($2)`;

/** For tests that look at the query plans. */
export const CONSUMER_STATEMENTS: readonly Statement[] = [ACKNOWLEDGE, LOOK, SET_BOOKMARK, ALL];

interface LeasableRow extends ConsumerRow, Bookmarked {
  readonly leased: boolean;
}

/** The number of times an acknowledgement that was refused may find no reason, because things have changed since. */
const ATTEMPTS = 10;

export class ConsumerTable {
  readonly #database: Database;
  readonly #queue: string;

  constructor(database: Database, queue: string) {
    this.#database = database;
    this.#queue = queue;
  }

  /** Throws the reason for a refusal, and then changes nothing. */
  async acknowledge(consumer: string, id: number, fence: number | undefined): Promise<AckRow> {
    const values = [this.#queue, consumer, id, fence ?? null];
    for (let attempt = 1; ; attempt += 1) {
      const [row] = await this.#database.query<AckRow>(ACKNOWLEDGE, values);
      if (row !== undefined) return row;
      await this.#refuse(consumer, fence);
      if (attempt >= ATTEMPTS) throw isLeased(consumer, 'others');
    }
  }

  /** Throws the reason why the acknowledgement was refused. Returns when there is no reason any more. */
  async #refuse(consumer: string, fence: number | undefined): Promise<void> {
    const [row] = await this.#database.query<LookRow>(LOOK, [this.#queue, consumer]);
    if (row === undefined) throw noSuchQueue(this.#queue);
    if (!row.subscribed) throw noSubscription(consumer);
    const isStale = fence !== undefined && (fence !== row.fence || row.holder === null);
    if (isStale) throw isFencedOff(consumer, fence);
    if (fence === undefined && row.leased) throw isLeased(consumer, row.holder ?? '');
  }

  async subscribe({ consumer_id, handler_cmd, filter }: Subscription): Promise<void> {
    const values = [this.#queue, consumer_id, handler_cmd, filter];
    // This is a transaction: a lone statement that is repeated would be refused because of its own first run.
    await this.#database.write(async (transaction) => {
      const added = await transaction.query(SUBSCRIBE, values);
      if (added.length > 0) return;
      const found = await transaction.query(LOOK, [this.#queue, consumer_id]);
      throw found.length === 0 ? noSuchQueue(this.#queue) : isSubscribed(consumer_id);
    });
  }

  async unsubscribe(consumer: string): Promise<void> {
    await this.#database.write(async (transaction) => {
      const removed = await transaction.query(UNSUBSCRIBE, [this.#queue, consumer]);
      if (removed.length === 0) throw noSubscription(consumer);
    });
  }

  async setBookmark(
    { consumer_id, filter }: Pick<Subscription, 'consumer_id' | 'filter'>,
    { from_id, to_id }: Bookmark,
  ): Promise<void> {
    await this.#database.query(SET_BOOKMARK, [this.#queue, consumer_id, filter, from_id, to_id]);
  }

  /** Lets workers try these consumers at once. */
  async forgive(consumers: readonly string[]): Promise<void> {
    if (consumers.length > 0) await this.#database.query(FORGIVE, [this.#queue, consumers]);
  }

  async all(): Promise<LeasableRow[]> {
    const rows = await this.#database.query<LeasableRow>(ALL, [this.#queue]);
    return rows.map(readConsumer);
  }
}

export function readConsumer<R extends ConsumerRow>(row: R): R {
  return { ...row, last_error: row.last_error === null ? null : fromStored(row.last_error) };
}

interface Bookmarked {
  readonly bookmark_from: number;
  readonly bookmark_to: number;
}

interface AckRow extends Bookmarked {
  readonly filter: string | null;
  readonly last_id: number;
}

interface LookRow {
  readonly subscribed: boolean;
  readonly fence: number | null;
  readonly holder: string | null;
  readonly leased: boolean | null;
}

export function bookmarkOf({ bookmark_from, bookmark_to }: Bookmarked): Bookmark {
  return { from_id: bookmark_from, to_id: bookmark_to };
}

export function knownOf(row: Bookmarked & { readonly last_acked_id: number }): Known {
  return { acked: row.last_acked_id, bookmark: bookmarkOf(row) };
}

function isLeased(consumer: string, owner: string): QuipuError<'LOCKED'> {
  const message = `worker ${owner} handles the events of consumer ${consumer}; its handler acknowledges with the fence that it finds in QUIPU_FENCE`;
  return locked(`consumer ${consumer}`, owner, message);
}

function isFencedOff(consumer: string, fence: number): QuipuError<'LOCKED'> {
  const message = `the lease of consumer ${consumer} with fence ${fence} is over: another worker handles its events; stop this one`;
  return locked(`consumer ${consumer}`, 'another worker', message);
}

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

export interface DueRow
  extends Bookmarked, Pick<ConsumerRow, 'consumer_id' | 'filter' | 'last_acked_id'> {
  readonly queue: string;
}

export interface Lease extends Pick<DueRow, 'queue' | 'consumer_id'> {
  readonly fence: number;
}

export interface LeasedRow
  extends Bookmarked, Pick<ConsumerRow, 'filter' | 'last_acked_id' | 'failures' | 'failed'> {
  /** Null: the consumer is no longer subscribed. */
  readonly handler_cmd: string | null;
  /** The newest event. */
  readonly last_id: number;
}

/** The new state of a consumer after its handler has ended. */
export interface Outcome extends Pick<FailedRun, 'failures' | 'failed' | 'retryInMs'> {
  readonly lastError: string | null;
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
    { queue, consumer_id }: Omit<Lease, 'fence'>,
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
