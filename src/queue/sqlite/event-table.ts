import { isQuipuError, corrupt, type QuipuError } from '../../base/errors.ts';
import { firstColumn, type Database, type Statement } from '../../base/sqlite.ts';
import { SOURCE_BYTES_MAX, type CheckedEvent } from '../events/check-input.ts';
import { sumOf, LineEncoder } from '../events/event-line.ts';
import type { QueueEvent } from '../events/queue.ts';
import type { EventReader, IdRange, OwnLooks } from '../events/scan.ts';
import type { CompiledFilter } from '../filter/filter.ts';
import { testEvent, type AskEvent } from '../filter/pattern.ts';
import { eventColumns, openDatabase, sealEvents, toStoredEvent } from './open-database.ts';
import type { StoredEvent, StoredRow } from './open-database.ts';

// Invariants
// - Calls are synchronous, so nothing of this process comes between the statements of one call.
// - Writes are transactions that begin by taking the write lock: they wait for others, and never fail half-way because
//   another process wrote between their first read and their first write.
// - Ids have no gaps but those in event_losses, and every event of ours has the checksum of its line. So a read that
//   passes a missing event notices it, and a read of an event that differs from what was pushed notices that.

/** This reads the counter, too: ids are never given twice, also when events were deleted by hand. */
const NEWEST_ID = `max((SELECT coalesce(max(id), 0) FROM events),
  (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'))`;
const TABLE_END = `SELECT ${NEWEST_ID} AS newest,
  (SELECT sum IS NULL FROM events ORDER BY id DESC LIMIT 1) AS unsealed`;

/** The bytes of an event without its content. */
const SMALL_BYTES_MAX = SOURCE_BYTES_MAX + 128;
/** The pages of this many small events fit into the cache of SQLite, where looking at them finds them again. */
const MEASURED_EVENTS = 2048;

/** The number of rows in one statement: a statement for each row takes half as long again. */
const ROWS = 200;
/** Beyond this size, lines are not kept in memory beside their events. */
const LINES_BYTES_MAX = 64 << 20;
const COLUMNS = 'created_at, source, type, subtype, content, sum';
const ROW = '(?, ?, ?, ?, ?, ?)';
const INSERT_ONE = `INSERT INTO events (${COLUMNS}) VALUES ${ROW}`;
const INSERT_MANY = `INSERT INTO events (${COLUMNS}) VALUES ${Array(ROWS).fill(ROW).join(', ')}`;
/** The counter moves with every event that anybody inserts, so a look at it tells what two queries would. */
const INSERT_NEXT = `INSERT INTO events (id, ${COLUMNS})
  SELECT ?, ?, ?, ?, ?, ?, ? FROM sqlite_sequence WHERE name = 'events' AND seq = ?`;

interface TableEnd {
  readonly newest: number;
  /** 1 when another program inserted the last event, which has no checksum then. */
  readonly unsealed: 0 | 1 | null;
}

/** A connection to events.db, and the operations on events. */
export class EventTable implements EventReader<CompiledFilter> {
  readonly #database: Database;
  readonly #columns: string;
  readonly #statements = new Map<string, Statement>();
  #last: { readonly sql: string; readonly statement: Statement } | undefined;
  /** The last event that this connection inserted. */
  #newest: number | undefined;

  constructor(path: string) {
    this.#database = openDatabase(path);
    this.#columns = eventColumns(this.#database);
  }

  /**
   * Runs `work` as one transaction that keeps every other writer, of any process, out. This is also the lock for work
   * outside the database that must not be done twice at once.
   */
  exclusively<T>(work: () => T): T {
    try {
      return this.#database.transaction(work, 'immediate');
    } catch (error) {
      this.#newest = undefined;
      throw error;
    }
  }

  /** The events are on the disk when this returns. */
  insert(events: readonly CheckedEvent[], createdAt: string): Inserted {
    return this.exclusively(() => {
      const inserted =
        this.#insertNext(events, createdAt) ??
        this.#insertAll(events, createdAt, this.#sealedEnd());
      this.#newest = inserted.lastId;
      return inserted;
    });
  }

  /** A single event after the last one that this connection inserted. Undefined when it is no longer the last. */
  #insertNext(events: readonly CheckedEvent[], created_at: string): Inserted | undefined {
    const [event] = events;
    const newest = this.#newest;
    if (events.length !== 1 || event === undefined || newest === undefined) return undefined;
    const { source, type, subtype, content } = event;
    const id = newest + 1;
    const lines = new LineEncoder(LINES_BYTES_MAX, 1);
    const sum = lines.add({ id, created_at, source, type, subtype, content });
    const values = [id, created_at, source, type, subtype, content, sum, newest];
    if (Number(this.prepare(INSERT_NEXT).run(...values).changes) === 0) return undefined;
    return { firstId: id, lastId: id, lines: lines.chunks, lined: lines.kept };
  }

  /** The new events follow the event with the id `newest`. */
  #insertAll(events: readonly CheckedEvent[], created_at: string, newest: number): Inserted {
    const lines = new LineEncoder(LINES_BYTES_MAX, events.length);
    let last = newest;
    let values: (string | number | null)[] = [];
    const flush = (sql: string): void => {
      last = Number(this.prepare(sql).run(...values).lastInsertRowid);
      values = [];
    };
    const odd = events.length % ROWS;
    let done = 0;
    for (const { source, type, subtype, content } of events) {
      done += 1;
      const sum = lines.add({ id: newest + done, created_at, source, type, subtype, content });
      values.push(created_at, source, type, subtype, content, sum);
      if (done <= odd) flush(INSERT_ONE);
      else if ((done - odd) % ROWS === 0) flush(INSERT_MANY);
    }
    if (last !== newest + events.length) throw new TypeError('events got ids that are not theirs');
    return { firstId: newest + 1, lastId: last, lines: lines.chunks, lined: lines.kept };
  }

  /** Returns the newest id. Every event up to it has its checksum then. */
  #sealedEnd(): number {
    const { newest, unsealed } = this.prepare(TABLE_END).get() as TableEnd;
    if (unsealed === 1) sealEvents(this.#database);
    return newest;
  }

  /** Puts events where they are missing or damaged. Call this inside a transaction. */
  restore(events: readonly QueueEvent[]): void {
    const sql = `INSERT OR REPLACE INTO events (id, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`;
    const insert = this.prepare(sql);
    for (const event of events) {
      const { id, created_at, source, type, subtype, content } = event;
      insert.run(id, created_at, source, type, subtype, content, sumOf(event));
    }
  }

  /**
   * Stores events of another queue as they are, and records that it has given ids up to `lastId`. Events that the other
   * queue lacks are not missing here.
   */
  adopt(events: readonly QueueEvent[], lastId: number): void {
    this.exclusively(() => {
      let known = this.newestId();
      this.restore(events);
      for (const { id } of [...events, { id: lastId + 1 }]) {
        if (id > known + 1) this.noteLoss({ after: known, through: id - 1 });
        known = id;
      }
      if (lastId <= this.newestId()) return;
      // The last events of the other queue were deleted by hand.
      this.prepare("DELETE FROM sqlite_sequence WHERE name = 'events'").run();
      this.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)").run(lastId);
    });
  }

  newestId(): number {
    return this.number(`SELECT ${NEWEST_ID}`);
  }

  countEvents(): number {
    return this.number('SELECT count(*) FROM events');
  }

  /**
   * Returns the events after `after` up to `through` that match. Throws CORRUPT when one of them differs from what was
   * pushed, or when one is missing in the range that was read.
   */
  matches(
    range: IdRange,
    filter: CompiledFilter | undefined,
    limit: number,
    maxBytes: number,
  ): QueueEvent[] {
    const { events, reached } = this.#read(range, filter, limit, maxBytes);
    const { after } = range;
    let found = events.length;
    if (filter !== undefined) {
      const sql = 'SELECT count(*) FROM events NOT INDEXED WHERE id > ? AND id <= ?';
      found = this.number(sql, after, reached);
    }
    const missing = reached - after - found;
    if (missing !== 0 && missing !== this.#lostIn({ after, through: reached })) {
      throw damaged(`of the events ${after + 1} to ${reached} some are missing`);
    }
    return events;
  }

  /** Returns all events that are there. Throws CORRUPT when one differs from what was pushed. */
  rows(range: IdRange, limit: number, maxBytes: number = Infinity): QueueEvent[] {
    return this.#read(range, undefined, limit, maxBytes).events;
  }

  /** Returns every row there is, damaged or not, with its checksum. */
  *stored(range: IdRange): IterableIterator<StoredEvent> {
    const sql = `SELECT ${this.#columns} FROM events NOT INDEXED WHERE id > ? AND id <= ? ORDER BY id`;
    const rows = this.prepare(sql).iterate(range.after, range.through) as Iterable<StoredRow>;
    for (const row of rows) yield toStoredEvent(row);
  }

  /** `reached`: the last id that was looked at. */
  #read(
    range: IdRange,
    filter: CompiledFilter | undefined,
    limit: number,
    maxBytes: number,
  ): { events: QueueEvent[]; reached: number } {
    const where = filter === undefined ? '' : ` AND ${filter.sql}`;
    // This uses no index, so that a damaged index hides no event.
    const select = this.prepare(
      `SELECT ${this.#columns} FROM events NOT INDEXED
       WHERE id > ? AND id <= ?${where} ORDER BY id ASC LIMIT ?`,
      filter === undefined,
    );
    const values = [range.after, range.through, ...(filter?.params ?? []), limit];
    const events: QueueEvent[] = [];
    let bytes = 0;
    for (const row of select.iterate(...values) as Iterable<StoredRow>) {
      const { sum, ...event } = toStoredEvent(row);
      if (sum !== null && sum !== sumOf(event)) throw damaged(`event ${event.id} is damaged`);
      events.push(event);
      bytes += event.content.length;
      if (events.length === limit || bytes > maxBytes) return { events, reached: event.id };
    }
    return { events, reached: range.through };
  }

  #lostIn({ after, through }: IdRange): number {
    const sql = `SELECT coalesce(sum(min(last_id, ?) - max(first_id, ?) + 1), 0) FROM event_losses
      WHERE first_id <= ? AND last_id > ?`;
    return this.number(sql, through, after + 1, through, after);
  }

  /** Events that are lost for good, and recorded as lost. */
  losses(): IdRange[] {
    const sql = 'SELECT first_id - 1 AS after, last_id AS through FROM event_losses ORDER BY 1';
    return this.prepare(sql).all() as IdRange[];
  }

  noteLoss({ after, through }: IdRange): void {
    const sql = 'INSERT OR REPLACE INTO event_losses (first_id, last_id) VALUES (?, ?)';
    this.prepare(sql).run(after + 1, through);
  }

  /** Moves a damaged event out of the way of the others. */
  putAside(id: number): void {
    const columns = `id, ${COLUMNS}`;
    const sql = `INSERT INTO damaged_events (${columns}) SELECT ${columns} FROM events WHERE id = ?`;
    this.prepare(sql).run(id);
    this.prepare('DELETE FROM events WHERE id = ?').run(id);
  }

  /** Returns the number of events that match, counted up to `limit`, without reading them. */
  countMatches(range: IdRange, filter: CompiledFilter | undefined, limit: number): number {
    const where = filter === undefined ? '' : ` AND ${filter.sql}`;
    const values = [range.after, range.through, ...(filter?.params ?? []), limit];
    return this.number(
      `SELECT count(*) FROM
         (SELECT 1 FROM events WHERE id > ? AND id <= ?${where} LIMIT ?)`,
      ...values,
    );
  }

  /** Returns the first event that matches, if any. */
  firstMatch(range: IdRange, filter: CompiledFilter | undefined): number | undefined {
    const where = filter === undefined ? '' : ` AND ${filter.sql}`;
    const first = this.prepare(
      `SELECT id FROM events WHERE id > ? AND id <= ?${where} ORDER BY id ASC LIMIT 1`,
      filter === undefined,
    ).get(range.after, range.through, ...(filter?.params ?? [])) as { id: number } | undefined;
    return first?.id;
  }

  readonly looks: OwnLooks<CompiledFilter> = {
    within: ({ after, through }, filter, steps) => {
      const maxBytes = steps / filter.weight;
      let count = Math.min(through - after, Math.max(1, Math.floor(maxBytes / SMALL_BYTES_MAX)));
      if (filter.readsContent) {
        count = Math.min(count, MEASURED_EVENTS);
        // Contents are measured without being read.
        const sql = 'SELECT total(octet_length(content)) FROM events WHERE id > ? AND id <= ?';
        const bytesOf = (events: number): number =>
          events * SMALL_BYTES_MAX + this.number(sql, after, after + events);
        while (count > 0 && bytesOf(count) > maxBytes) count = Math.floor(count / 2);
      }
      return after + count;
    },

    isMatch: async (id, { filter }, breathe) => {
      const ask: AskEvent = (sql, params) => {
        const select = `SELECT ${sql} FROM events NOT INDEXED WHERE id = ?`;
        const row = this.prepare(select, false).get(...params, id);
        return row === undefined ? undefined : firstColumn(row);
      };
      if (ask('1', []) === undefined) return undefined;
      return (await testEvent(filter, ask, breathe)) === true;
    },
  };

  close(): void {
    this.#statements.clear();
    this.#last = undefined;
    this.#database.close();
  }

  protected number(sql: string, ...values: unknown[]): number {
    const statement = this.prepare(sql, !sql.includes('LIMIT'));
    return firstColumn(statement.get(...values)) as number;
  }

  /**
   * Statements of this class are kept. Of those with a filter only the last one is, for the next stretch of a scan: there
   * are as many as there are filters.
   */
  protected prepare(sql: string, keep = true): Statement {
    const known =
      this.#statements.get(sql) ?? (this.#last?.sql === sql ? this.#last.statement : undefined);
    if (known !== undefined && !known.busy) return known;
    const statement = this.#database.prepare(sql);
    if (keep) this.#statements.set(sql, statement);
    else this.#last = { sql, statement };
    return statement;
  }
}

/** An event differs from what was pushed, or is missing. */
function damaged(what: string): QuipuError<'CORRUPT'> {
  const message = `${what} in events.db, and not in events.jsonl; verify --repair says what is lost, and goes on without it`;
  return corrupt('events.db', message);
}

/** Returns whether the error is one of these, which the mirror may repair. An error from SQLite itself has a cause. */
export function isEventDamage(error: unknown): boolean {
  return isQuipuError(error, 'CORRUPT') && error.cause === undefined;
}

/** The result of an insert. Ids follow one another. */
export interface Inserted {
  readonly firstId: number;
  readonly lastId: number;
  /** The lines of the first events, as they are written to the mirror, and the number of these events. */
  readonly lines: readonly Buffer[];
  readonly lined: number;
}
