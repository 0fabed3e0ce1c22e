import { unsupported } from '../../base/errors.ts';
import type { Database } from '../../postgres/database.ts';
import { migrate } from '../../postgres/migrate.ts';
import { prepared } from '../../postgres/sql.ts';
import { checkQueueName } from '../events/check-input.ts';
import { readMatches, type ConsumerRow } from '../events/scan.ts';
import type { QueueEvent } from '../events/queue.ts';
import {
  hasMoved,
  COPY_PAGE,
  type AdoptedEvents,
  type QueueRecords,
  type QueueState,
} from '../upkeep/queue-records.ts';
import type { QueueProblem } from '../upkeep/queue-health.ts';
import { readConsumer } from './tables/consumer-table.ts';
import { columnsOf, EventTable } from './tables/event-table.ts';
import { hasQueueTables, QUEUE_TABLES, toStored } from './tables/schema.ts';

const STATE = `SELECT last_id, (SELECT count(*) FROM quipu.queue_events WHERE queue = $1) AS count
  FROM quipu.queues WHERE queue = $1`;
const CONSUMERS = `SELECT consumer_id, handler_cmd, filter, last_acked_id, updated_at,
    failures, failed, last_error
  FROM quipu.queue_consumers WHERE queue = $1 AND (handler_cmd IS NOT NULL OR updated_at IS NOT NULL)
  ORDER BY consumer_id`;
const CREATE = 'INSERT INTO quipu.queues (queue) VALUES ($1) ON CONFLICT DO NOTHING';
/** Keeps every other writer out until the end of the transaction. */
const MOVE = prepared('queue-adopt-move')`
  UPDATE quipu.queues SET last_id = $3 WHERE queue = $1 AND last_id = $2 RETURNING last_id`;
const INSERT = prepared('queue-adopt-events')`
  INSERT INTO quipu.queue_events (queue, id, created_at, source, type, subtype, content)
  SELECT $1, id, created_at, source, type, subtype, content
  FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    AS event (id, created_at, source, type, subtype, content)`;
/** A lease that somebody holds is not changed. A consumer that is marked failed waits for a new event, as before. */
const TAKE_CONSUMER = prepared('queue-adopt-consumer')`
  INSERT INTO quipu.queue_consumers AS mine (queue, consumer_id, handler_cmd, filter, last_acked_id,
    updated_at, failures, failed, last_error, waits_after)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  ON CONFLICT (queue, consumer_id) DO UPDATE SET handler_cmd = $3, filter = $4,
    last_acked_id = $5, updated_at = $6, failures = $7, failed = $8, last_error = $9,
    waits_after = $10, bookmark_from = 0, bookmark_to = 0, retry_at = NULL
  WHERE mine.last_acked_id <= $5
  RETURNING consumer_id`;

/** The queues of a database, for a copy. The first queue creates the tables. */
export class PostgresRecords implements QueueRecords {
  readonly #database: Database;
  #ready: Promise<unknown> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async names(): Promise<readonly string[]> {
    if (!(await hasQueueTables(this.#database))) return [];
    // Tables newer than this version knows are refused.
    await this.#makeReady();
    const rows = await this.#database.query<{ queue: string }>(
      'SELECT queue FROM quipu.queues ORDER BY queue',
    );
    return rows.map(({ queue }) => queue);
  }

  async state(queue: string): Promise<QueueState | undefined> {
    if (!(await hasQueueTables(this.#database))) return undefined;
    return this.#database.read(async (sql) => {
      const [row] = await sql.query<{ last_id: number; count: number }>(STATE, [queue]);
      if (row === undefined) return undefined;
      const consumers = await sql.query<ConsumerRow>(CONSUMERS, [queue]);
      return { lastId: row.last_id, count: row.count, consumers: consumers.map(readConsumer) };
    });
  }

  events(queue: string, after: number): Promise<readonly QueueEvent[]> {
    const table = new EventTable(this.#database, queue);
    return readMatches(table, undefined, { after, ...COPY_PAGE });
  }

  assertFits(queue: string, { lastId, count, consumers }: QueueState): void {
    checkQueueName(queue);
    if (count !== lastId) {
      const message = `queue ${queue} lacks ${lastId - count} of its ${lastId} events, which somebody deleted, and a database keeps queues without gaps; push those that are left to a new queue and remove this one, or copy into a folder`;
      throw unsupported('copy', 'a queue with gaps', message);
    }
    const odd = consumers.find(({ filter }) => filter?.includes('\0'));
    if (odd === undefined) return;
    const message = `the filter of consumer ${odd.consumer_id} of queue ${queue} has a NUL character, which a database cannot keep; subscribe with another filter, or copy into a folder`;
    throw unsupported('copy', 'a filter with NUL', message);
  }

  async adoptEvents(queue: string, { after, events, lastId }: AdoptedEvents): Promise<void> {
    await this.#makeReady();
    await this.#database.write(async (transaction) => {
      await transaction.query(CREATE, [queue]);
      const moved = await transaction.query(MOVE, [queue, after, lastId]);
      if (moved.length === 0) throw hasMoved(queue);
      const ids = events.map(({ id }) => id);
      const times = events.map(({ created_at }) => created_at);
      transaction.send(INSERT, [queue, ids, times, ...columnsOf(events)]);
    });
  }

  async adoptConsumers(queue: string, { lastId, consumers }: QueueState): Promise<void> {
    await this.#database.write(async (transaction) => {
      const here = await transaction.query(MOVE, [queue, lastId, lastId]);
      if (here.length === 0) throw hasMoved(queue);
      for (const consumer of consumers) {
        const taken = await transaction.query(TAKE_CONSUMER, [queue, ...toRow(consumer, lastId)]);
        if (taken.length === 0) throw hasMoved(queue);
      }
    });
  }

  check(): Promise<readonly QueueProblem[]> {
    return checkPostgresQueues(this.#database);
  }

  /** The database stays its owner's. */
  close(): void {}

  /** Runs once for a copy, and not for each of its pages. */
  #makeReady(): Promise<unknown> {
    this.#ready ??= migrate(this.#database, QUEUE_TABLES);
    return this.#ready;
  }
}

function toRow(consumer: ConsumerRow, lastId: number): unknown[] {
  const { consumer_id, handler_cmd, filter, last_acked_id, updated_at } = consumer;
  const { failures, failed, last_error } = consumer;
  const error = last_error === null ? null : toStored(last_error);
  const waitsAfter = failed ? lastId : 0;
  return [
    consumer_id,
    handler_cmd,
    filter,
    last_acked_id,
    updated_at,
    failures,
    failed,
    error,
    waitsAfter,
  ];
}

/** The number of events that one statement counts. */
const STRETCH = 100_000;

const QUEUES = `SELECT queue, last_id, (SELECT count(*) FROM quipu.queue_consumers AS consumer
    WHERE consumer.queue = queues.queue AND last_acked_id > last_id) AS ahead
  FROM quipu.queues ORDER BY queue`;
const COUNT = `SELECT count(*) AS count
  FROM quipu.queue_events WHERE queue = $1 AND id > $2 AND id <= $3`;
/** One statement, because events come while it looks. */
const STRAY = `SELECT count(*) AS count FROM quipu.queues JOIN quipu.queue_events AS event
  ON event.queue = queues.queue AND event.id > last_id WHERE queues.queue = $1`;

/** Counts the events of every queue, and reports where some are missing. PostgreSQL itself checks its pages. */
export async function checkPostgresQueues(database: Database): Promise<QueueProblem[]> {
  if (!(await hasQueueTables(database))) return [];
  const problems: QueueProblem[] = [];
  const queues = await database.query<{ queue: string; last_id: number; ahead: number }>(QUEUES);
  for (const { queue, last_id, ahead } of queues) {
    for (let after = 0; after < last_id; after += STRETCH) {
      const through = Math.min(last_id, after + STRETCH);
      const [row] = await database.query<{ count: number }>(COUNT, [queue, after, through]);
      const missing = through - after - (row?.count ?? 0);
      if (missing === 0) continue;
      problems.push({
        queue,
        what: `${missing} events from ${after + 1} to ${through} are missing`,
      });
    }
    const [stray] = await database.query<{ count: number }>(STRAY, [queue]);
    if (stray !== undefined && stray.count > 0) {
      problems.push({ queue, what: `${stray.count} events come after the newest` });
    }
    if (ahead > 0) problems.push({ queue, what: `${ahead} consumers are past the newest event` });
  }
  return problems;
}
