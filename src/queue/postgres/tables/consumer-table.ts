import { type QuipuError, locked } from '../../../base/errors.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared, type Statement } from '../../../postgres/sql.ts';
import { isSubscribed, noSubscription, noSuchQueue } from '../../events/check-input.ts';
import type { ConsumerRow } from '../../events/consumer-row.ts';
import type { Subscription } from '../../events/queue.ts';
import type { Bookmark, Known } from '../../events/scan.ts';
import { SQL_LEASED, SQL_NOW, fromStored } from './schema.ts';

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
  SELECT last_id, consumer_id IS NOT NULL AND handler_cmd IS NOT NULL AS subscribed,
    fence, holder, ${SQL_LEASED} AS leased
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

/** For tests that look at the query plans. */
export const CONSUMER_STATEMENTS: readonly Statement[] = [ACKNOWLEDGE, LOOK, SET_BOOKMARK, ALL];

export interface LeasableRow extends ConsumerRow, Bookmarked {
  readonly leased: boolean;
}

export interface Acknowledged {
  readonly filter: string | null;
  readonly bookmark: Bookmark;
  readonly newest: number;
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
  async acknowledge(
    consumer: string,
    id: number,
    fence: number | undefined,
  ): Promise<Acknowledged> {
    const values = [this.#queue, consumer, id, fence ?? null];
    for (let attempt = 1; ; attempt += 1) {
      const [row] = await this.#database.query<AckRow>(ACKNOWLEDGE, values);
      if (row !== undefined) {
        const { filter, last_id } = row;
        return { filter, bookmark: bookmarkOf(row), newest: last_id };
      }
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
  readonly last_id: number;
  readonly subscribed: boolean;
  readonly fence: number | null;
  readonly holder: string | null;
  readonly leased: boolean | null;
}

function bookmarkOf({ bookmark_from, bookmark_to }: Bookmarked): Bookmark {
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
