import type { Database, Statement } from 'better-sqlite3';
import { QuipuError } from '../../base/errors.ts';
import { compileFilter } from '../filter/compile-filter.ts';
import type { CompiledFilter } from '../filter/compile-filter.ts';
import { parseFilter } from '../filter/parse-filter.ts';
import { sqliteDialect } from '../filter/sqlite-dialect.ts';
import type { CheckedEvent } from '../check-input.ts';
import type { QueueEvent, Subscription } from '../queue.ts';
import type { Bookmark, EventReader, IdRange, Known } from '../scan.ts';
import { EventInserter } from './event-inserter.ts';
import { openDatabase } from './open-database.ts';

// One connection to events.db, and every statement on it.
// Invariants
// - Calls are synchronous, so nothing of this process comes between the statements of one call.
// - Writes are transactions that begin by taking the write lock: they wait for others, and never fail half-way
//   because another process wrote between their first read and their first write.

export interface FailureRow {
  readonly consumer_id: string;
  readonly failures: number;
  readonly failed: 0 | 1;
  readonly last_error: string;
}

export interface ProgressRow {
  readonly consumer_id: string;
  readonly last_acked_id: number;
  readonly updated_at: string;
}

export type LinedFile = 'events.jsonl' | 'thread.log';

export class QueueDatabase implements EventReader<CompiledFilter> {
  readonly #database: Database;
  readonly #inserter: EventInserter;
  readonly #statements = new Map<string, Statement>();

  constructor(path: string) {
    this.#database = openDatabase(path);
    this.#inserter = new EventInserter(this.#database);
  }

  /**
   * `work` as one transaction that keeps every other writer, of any process, out. Also the lock for what is
   * not in the database but must not be done twice at once.
   */
  exclusively<T>(work: () => T): T {
    if (this.#database.inTransaction) return work();
    // As better-sqlite3's own `transaction`, which makes a new function each time: a tenth of a push.
    this.#prepare('BEGIN IMMEDIATE').run();
    try {
      const result = work();
      this.#prepare('COMMIT').run();
      return result;
    } finally {
      // After a full disk SQLite may have rolled back by itself.
      if (this.#database.inTransaction) this.#prepare('ROLLBACK').run();
    }
  }

  /** The ids, one after the other. On the disk when it returns, as is that `logLines` lines follow in the log. */
  insert(events: readonly CheckedEvent[], createdAt: string, logLines: number): number[] {
    return this.exclusively(() => {
      if (logLines > 0) this.addLines('thread.log', logLines);
      return this.#inserter.insert(events, createdAt);
    });
  }

  /** Events of another queue as they are, and that it has given ids up to `lastId`. */
  adopt(events: readonly QueueEvent[], lastId: number): void {
    this.exclusively(() => {
      const insert = this.#prepare(`INSERT INTO events
        (id, created_at, source, type, subtype, content) VALUES (?, ?, ?, ?, ?, ?)`);
      for (const { id, created_at, source, type, subtype, content } of events) {
        insert.run(id, created_at, source, type, subtype, content);
      }
      if (lastId <= this.newestId()) return;
      // Its last events were deleted by hand.
      this.#prepare("DELETE FROM sqlite_sequence WHERE name = 'events'").run();
      this.#prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)").run(lastId);
    });
  }

  newestId(): number {
    // The counter and not the table: ids are never given twice, also when events were deleted by hand.
    return this.#number(`SELECT max((SELECT coalesce(max(id), 0) FROM events),
      (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'))`);
  }

  countEvents(): number {
    return this.#number('SELECT count(*) FROM events');
  }

  /** Events after `after` up to `through` that match, as they are asked for. */
  matches(
    range: IdRange,
    filter: CompiledFilter | undefined,
    limit: number,
  ): IterableIterator<QueueEvent> {
    const where = filter === undefined ? '' : ` AND ${filter.sql}`;
    const select = this.#prepare(
      `SELECT id, created_at, source, type, subtype, content FROM events
       WHERE id > ? AND id <= ?${where} ORDER BY id ASC LIMIT ?`,
      filter === undefined,
    );
    const values = [range.after, range.through, ...(filter?.params ?? []), limit];
    return select.iterate(...values) as IterableIterator<QueueEvent>;
  }

  /** How many match, counted up to `limit`, without reading them. */
  countMatches(range: IdRange, filter: CompiledFilter | undefined, limit: number): number {
    const where = filter === undefined ? '' : ` AND ${filter.sql}`;
    const values = [range.after, range.through, ...(filter?.params ?? []), limit];
    return this.#number(
      `SELECT count(*) FROM
         (SELECT 1 FROM events WHERE id > ? AND id <= ?${where} LIMIT ?)`,
      ...values,
    );
  }

  /** The first that matches, if any. */
  firstMatch(range: IdRange, filter: CompiledFilter | undefined): number | undefined {
    const where = filter === undefined ? '' : ` AND ${filter.sql}`;
    const first = this.#prepare(
      `SELECT id FROM events WHERE id > ? AND id <= ?${where} ORDER BY id ASC LIMIT 1`,
      filter === undefined,
    ).get(range.after, range.through, ...(filter?.params ?? [])) as { id: number } | undefined;
    return first?.id;
  }

  hasSubscriptions(): boolean {
    return this.#number('SELECT EXISTS (SELECT 1 FROM subscriptions)') === 1;
  }

  subscriptions(): Subscription[] {
    const sql = 'SELECT consumer_id, handler_cmd, filter FROM subscriptions ORDER BY consumer_id';
    return this.#prepare(sql).all() as Subscription[];
  }

  subscription(consumer: string): Subscription | undefined {
    const sql = 'SELECT consumer_id, handler_cmd, filter FROM subscriptions WHERE consumer_id = ?';
    return this.#prepare(sql).get(consumer) as Subscription | undefined;
  }

  /** False when there is one. */
  addSubscription({ consumer_id, handler_cmd, filter }: Subscription): boolean {
    const sql = `INSERT INTO subscriptions (consumer_id, handler_cmd, filter) VALUES (?, ?, ?)
      ON CONFLICT DO NOTHING`;
    return this.#prepare(sql).run(consumer_id, handler_cmd, filter).changes === 1;
  }

  /** With what was known about its filter and its handler. False when there is none. */
  removeSubscription(consumer: string): boolean {
    return this.exclusively(() => {
      for (const table of ['consumer_bookmarks', 'consumer_failures']) {
        this.#prepare(`DELETE FROM ${table} WHERE consumer_id = ?`).run(consumer);
      }
      const sql = 'DELETE FROM subscriptions WHERE consumer_id = ?';
      return this.#prepare(sql).run(consumer).changes === 1;
    });
  }

  progress(): ProgressRow[] {
    return this.#prepare(
      'SELECT * FROM consumer_progress ORDER BY consumer_id',
    ).all() as ProgressRow[];
  }

  acked(consumer: string): number {
    return this.#number(
      'SELECT coalesce((SELECT last_acked_id FROM consumer_progress WHERE consumer_id = ?), 0)',
      consumer,
    );
  }

  acknowledge(consumer: string, id: number, at: string): void {
    this.#prepare(
      `INSERT INTO consumer_progress (consumer_id, last_acked_id, updated_at) VALUES (?, ?, ?)
       ON CONFLICT (consumer_id) DO UPDATE
       SET last_acked_id = excluded.last_acked_id, updated_at = excluded.updated_at`,
    ).run(consumer, id, at);
  }

  known(consumer: string): Known {
    return { acked: this.acked(consumer), bookmark: this.bookmark(consumer) };
  }

  bookmark(consumer: string): Bookmark | undefined {
    const sql = 'SELECT from_id, to_id FROM consumer_bookmarks WHERE consumer_id = ?';
    return this.#prepare(sql).get(consumer) as Bookmark | undefined;
  }

  /** Only for a consumer that still has this filter: another one makes the bookmark untrue. */
  setBookmark({ consumer_id, filter }: Subscription, { from_id, to_id }: Bookmark): void {
    this.#prepare(
      `INSERT OR REPLACE INTO consumer_bookmarks (consumer_id, from_id, to_id)
       SELECT consumer_id, ?, ? FROM subscriptions WHERE consumer_id = ? AND filter IS ?`,
    ).run(from_id, to_id, consumer_id, filter);
  }

  failures(): FailureRow[] {
    const sql = 'SELECT consumer_id, failures, failed, last_error FROM consumer_failures';
    return this.#prepare(sql).all() as FailureRow[];
  }

  failure(consumer: string): FailureRow | undefined {
    return this.failures().find((row) => row.consumer_id === consumer);
  }

  setFailure({ consumer_id, failures, failed, last_error }: FailureRow, at: string): void {
    this.#prepare(
      `INSERT OR REPLACE INTO consumer_failures
       (consumer_id, failures, failed, last_error, updated_at) VALUES (?, ?, ?, ?, ?)`,
    ).run(consumer_id, failures, failed, last_error, at);
  }

  clearFailure(consumer: string): void {
    this.#prepare('DELETE FROM consumer_failures WHERE consumer_id = ?').run(consumer);
  }

  /** For the log, how many lines it has; for the mirror, the last event that was put aside with an old file. */
  lines(name: LinedFile): number {
    return this.#number('SELECT coalesce((SELECT lines FROM file_lines WHERE name = ?), 0)', name);
  }

  addLines(name: LinedFile, count: number): void {
    this.#prepare('UPDATE file_lines SET lines = lines + ? WHERE name = ?').run(count, name);
  }

  setLines(name: LinedFile, lines: number): void {
    this.#prepare('INSERT OR REPLACE INTO file_lines (name, lines) VALUES (?, ?)').run(name, lines);
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #number(sql: string, ...values: unknown[]): number {
    return this.#prepare(sql, !sql.includes('LIMIT'))
      .pluck()
      .get(...values) as number;
  }

  /** Statements of this class are kept; those with a filter in them are as many as there are filters. */
  #prepare(sql: string, keep = true): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined && !known.busy) return known;
    const statement = this.#database.prepare(sql);
    if (keep) this.#statements.set(sql, statement);
    return statement;
  }
}

/** For SQLite. An empty filter, as NULL in the table, is every event. CORRUPT for one that cannot be read. */
export function compileStored({ consumer_id, filter }: Subscription): CompiledFilter | undefined {
  try {
    return compileText(filter);
  } catch (error) {
    throw new QuipuError(
      'CORRUPT',
      `the stored filter of consumer ${consumer_id} cannot be used: ${(error as Error).message}`,
      { file: 'events.db', offset: 0 },
      { cause: error },
    );
  }
}

/** INVALID for what is no filter. */
export function compileText(filter: string | null | undefined): CompiledFilter | undefined {
  if (filter === null || filter === undefined) return undefined;
  return compileFilter(parseFilter(filter), sqliteDialect);
}
