import type { Database } from '../../../postgres/database.ts';
import { prepared, type Statement } from '../../../postgres/sql.ts';
import { noSuchQueue, type CheckedEvent } from '../../events/check-input.ts';
import type { QueueEvent } from '../../events/queue.ts';
import type { EventReader, IdRange } from '../../events/scan.ts';
import { compileFilter, type Filter } from '../../filter/filter.ts';
import { postgresDialect, SQL_NOW, fromStored, toStored } from './schema.ts';

// The events of one queue.
// Invariants
// - A push first takes ids from the row of the queue and holds that row until the commit. So ids rise by one in the
//   order of commits, and a reader that sees an id sees all events before it.
// - Every read is a range of the primary key.

/** The size of one INSERT statement. A larger batch takes several, in one transaction. */
const INSERT_CHARS = 4 << 20;
const INSERT_EVENTS = 5000;

const TAKE_IDS = prepared('queue-take-ids')`
  UPDATE quipu.queues SET last_id = last_id + $2 WHERE queue = $1
  RETURNING last_id - $2 AS before, ${SQL_NOW} AS created_at`;
const INSERT = prepared('queue-insert')`
  INSERT INTO quipu.queue_events (queue, id, created_at, source, type, subtype, content)
  SELECT $1, $2 + nth, $3, source, type, subtype, content
  FROM unnest($4::text[], $5::text[], $6::text[], $7::text[])
    WITH ORDINALITY AS event (source, type, subtype, content, nth)`;
const NEWEST = prepared('queue-newest')`SELECT last_id FROM quipu.queues WHERE queue = $1`;

/** For tests that look at the query plans. */
export const EVENT_STATEMENTS: readonly Statement[] = [TAKE_IDS, NEWEST];

/** The parameters in front of a filter: queue, after, through, limit. */
const BEFORE_FILTER = 4;
const IN_RANGE = 'queue = $1 AND id > $2 AND id <= $3';

/**
 * Statements over events, with a condition that is empty or begins with AND. For tests that look at the query plans.
 */
export const READS = {
  matches: (where: string, maxBytes: string): string =>
    `SELECT id, created_at, source, type, subtype, content FROM (
       SELECT *, sum(octet_length(content)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING)
         - octet_length(content) AS bytes_before
       FROM (SELECT * FROM quipu.queue_events WHERE ${IN_RANGE}${where} ORDER BY id LIMIT $4) AS page
     ) AS sized WHERE bytes_before <= ${maxBytes}::bigint ORDER BY id`,
  count: (where: string): string =>
    `SELECT count(*) AS count FROM
       (SELECT 1 FROM quipu.queue_events WHERE ${IN_RANGE}${where} LIMIT $4) AS found`,
  first: (where: string): string =>
    `SELECT id FROM quipu.queue_events WHERE ${IN_RANGE}${where} ORDER BY id LIMIT $4`,
};

export class EventTable implements EventReader<Filter> {
  readonly #database: Database;
  readonly #queue: string;

  constructor(database: Database, queue: string) {
    this.#database = database;
    this.#queue = queue;
  }

  /** Returns the ids, one after the other. The insert is carried out once, whatever happens to the connection. */
  async insert(events: readonly CheckedEvent[]): Promise<number[]> {
    return this.#database.write(async (transaction) => {
      const take = [this.#queue, events.length];
      const [taken] = await transaction.query<Taken>(TAKE_IDS, take);
      if (taken === undefined) throw noSuchQueue(this.#queue);
      for (const { from, part } of partsOf(events)) {
        const values = [this.#queue, taken.before + from, taken.created_at, ...columnsOf(part)];
        // The last part travels with the commit.
        if (from + part.length === events.length) transaction.send(INSERT, values);
        else await transaction.query(INSERT, values);
      }
      return events.map((_, at) => taken.before + at + 1);
    });
  }

  async newestId(): Promise<number> {
    const [row] = await this.#database.query<{ last_id: number }>(NEWEST, [this.#queue]);
    if (row === undefined) throw noSuchQueue(this.#queue);
    return row.last_id;
  }

  async matches(
    range: IdRange,
    filter: Filter | undefined,
    limit: number,
    maxBytes: number,
  ): Promise<QueueEvent[]> {
    const { where, params } = whereOf(filter);
    const last = `$${BEFORE_FILTER + params.length + 1}`;
    const values = [...this.#before(range, limit), ...params, maxBytes];
    const rows = await this.#ask<QueueEvent>('matches', READS.matches(where, last), values);
    return rows.map((row) => ({ ...row, content: fromStored(row.content) }));
  }

  async countMatches(range: IdRange, filter: Filter | undefined, limit: number): Promise<number> {
    const { where, params } = whereOf(filter);
    const values = [...this.#before(range, limit), ...params];
    const [row] = await this.#ask<{ count: number }>('count', READS.count(where), values);
    return row?.count ?? 0;
  }

  async firstMatch(range: IdRange, filter: Filter | undefined): Promise<number | undefined> {
    const { where, params } = whereOf(filter);
    const values = [...this.#before(range, 1), ...params];
    const [row] = await this.#ask<{ id: number }>('first', READS.first(where), values);
    return row?.id;
  }

  #before({ after, through }: IdRange, limit: number): unknown[] {
    return [this.#queue, after, through, limit];
  }

  #ask<R extends object>(
    read: keyof typeof READS,
    text: string,
    values: readonly unknown[],
  ): Promise<readonly R[]> {
    // Statements without a filter are few, so each is prepared once.
    const isPlain = values.length <= BEFORE_FILTER + (read === 'matches' ? 1 : 0);
    return this.#database.query<R>(isPlain ? { name: `queue-${read}`, text } : text, values);
  }
}

interface Taken {
  readonly before: number;
  readonly created_at: string;
}

function whereOf(filter: Filter | undefined): { where: string; params: readonly unknown[] } {
  if (filter === undefined) return { where: '', params: [] };
  const { sql, params } = compileFilter(filter, postgresDialect, BEFORE_FILTER);
  return { where: ` AND ${sql}`, params };
}

/** Splits the events into parts that one statement can take. */
function* partsOf(
  events: readonly CheckedEvent[],
): Generator<{ from: number; part: readonly CheckedEvent[] }> {
  let from = 0;
  let chars = 0;
  for (const [at, { content }] of events.entries()) {
    const isFull = at - from >= INSERT_EVENTS || chars + content.length > INSERT_CHARS;
    if (isFull && at > from) {
      yield { from, part: events.slice(from, at) };
      from = at;
      chars = 0;
    }
    chars += content.length;
  }
  yield { from, part: events.slice(from) };
}

/** Source, type, subtype and content, each as one parameter. */
export function columnsOf(
  events: readonly Pick<QueueEvent, 'source' | 'type' | 'subtype' | 'content'>[],
): unknown[] {
  return [
    events.map(({ source }) => source),
    events.map(({ type }) => type),
    events.map(({ subtype }) => subtype),
    events.map(({ content }) => toStored(content)),
  ];
}

// A ring tells waiting processes that there are events. A ring is a hint and never more. The sender sends it after the
// events are there, and it may get lost with its sender, so a waiting process looks by itself from time to time.

const CHANNEL = 'quipu_queues';
const RING = { name: 'queue-ring', text: `SELECT pg_notify('${CHANNEL}', $1)` };

export class QueueRings {
  readonly #database: Database;
  readonly #waiting = new Set<(queue: string | undefined) => void>();
  #stop: (() => Promise<void>) | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async ring(queue: string): Promise<void> {
    await this.#database.query(RING, [`${this.#prefix}${queue}`]);
  }

  /** Hears the rings of all queues from now on. Undefined: some rings may have been missed. */
  listen(heard: (queue: string | undefined) => void): () => void {
    this.#stop ??= this.#database.listen(CHANNEL, {
      heard: (payload) => {
        if (!payload.startsWith(this.#prefix)) return;
        const queue = payload.slice(this.#prefix.length);
        for (const each of this.#waiting) each(queue);
      },
      began: () => {
        for (const each of this.#waiting) each(undefined);
      },
    });
    this.#waiting.add(heard);
    return () => this.#waiting.delete(heard);
  }

  async close(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
  }

  /** Queues of another schema of the database have names of their own. */
  get #prefix(): string {
    return `${this.#database.address.schema}/`;
  }
}
