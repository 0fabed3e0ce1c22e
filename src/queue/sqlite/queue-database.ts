import { corrupt } from '../../base/errors.ts';
import type { CheckedEvent } from '../events/check-input.ts';
import type { ConsumerRow, Bookmark, Known } from '../events/scan.ts';
import type { Subscription } from '../events/queue.ts';
import { compileFilter, sqliteDialect, type CompiledFilter } from '../filter/filter.ts';
import { readFilter } from '../filter/parse-filter.ts';
import { EventTable, type Inserted } from './event-table.ts';

/** The reason why a handler is run again, or not. */
type Failure = Pick<ConsumerRow, 'consumer_id' | 'failures' | 'failed' | 'last_error'>;

export type LinedFile = 'events.jsonl' | 'thread.log';

/** One connection to events.db, and every statement on it. */
export class QueueDatabase extends EventTable {
  /** The insert also records that `logLines` lines follow in the log. */
  override insert(events: readonly CheckedEvent[], createdAt: string, logLines = 0): Inserted {
    return this.exclusively(() => {
      if (logLines > 0) this.addLines('thread.log', logLines);
      return super.insert(events, createdAt);
    });
  }

  /** Takes rows of another database's table. */
  take(table: string, rows: readonly Readonly<Record<string, unknown>>[]): void {
    for (const row of rows) {
      const columns = Object.keys(row);
      const marks = columns.map(() => '?').join(', ');
      const sql = `INSERT OR REPLACE INTO ${table} (${columns.join(', ')}) VALUES (${marks})`;
      this.prepare(sql).run(...Object.values(row));
    }
  }

  hasSubscriptions(): boolean {
    return this.number('SELECT EXISTS (SELECT 1 FROM subscriptions)') === 1;
  }

  subscriptions(): Subscription[] {
    const sql = 'SELECT consumer_id, handler_cmd, filter FROM subscriptions ORDER BY consumer_id';
    return this.prepare(sql).all() as Subscription[];
  }

  subscription(consumer: string): Subscription | undefined {
    const sql = 'SELECT consumer_id, handler_cmd, filter FROM subscriptions WHERE consumer_id = ?';
    return this.prepare(sql).get(consumer) as Subscription | undefined;
  }

  /** Returns false when there is a subscription already. */
  addSubscription({ consumer_id, handler_cmd, filter }: Subscription): boolean {
    const sql = `INSERT INTO subscriptions (consumer_id, handler_cmd, filter) VALUES (?, ?, ?)
      ON CONFLICT DO NOTHING`;
    return this.prepare(sql).run(consumer_id, handler_cmd, filter).changes === 1;
  }

  /**
   * Also removes the bookmark of its filter and the failures of its handler. Returns false when there is no
   * subscription.
   */
  removeSubscription(consumer: string): boolean {
    return this.exclusively(() => {
      for (const table of ['consumer_bookmarks', 'consumer_failures']) {
        this.prepare(`DELETE FROM ${table} WHERE consumer_id = ?`).run(consumer);
      }
      const sql = 'DELETE FROM subscriptions WHERE consumer_id = ?';
      return this.prepare(sql).run(consumer).changes === 1;
    });
  }

  consumers(): ConsumerRow[] {
    const rows = this.prepare(
      `SELECT consumer_id, handler_cmd, filter, coalesce(last_acked_id, 0) AS last_acked_id,
         consumer_progress.updated_at, coalesce(failures, 0) AS failures, failed, last_error
       FROM (SELECT consumer_id FROM subscriptions UNION SELECT consumer_id FROM consumer_progress)
       LEFT JOIN subscriptions USING (consumer_id)
       LEFT JOIN consumer_progress USING (consumer_id)
       LEFT JOIN consumer_failures USING (consumer_id)
       ORDER BY consumer_id`,
    ).all() as ConsumerRow[];
    return rows.map(readFailed);
  }

  acknowledge(consumer: string, id: number, at: string): void {
    this.prepare(
      `INSERT INTO consumer_progress (consumer_id, last_acked_id, updated_at) VALUES (?, ?, ?)
       ON CONFLICT (consumer_id) DO UPDATE
       SET last_acked_id = excluded.last_acked_id, updated_at = excluded.updated_at`,
    ).run(consumer, id, at);
  }

  /** One statement, because a dispatch asks for each of its consumers. */
  known(consumer: string): Known {
    const { acked, from_id, to_id } = this.prepare(
      `SELECT coalesce(last_acked_id, 0) AS acked, from_id, to_id FROM (SELECT ? AS consumer_id)
       LEFT JOIN consumer_progress USING (consumer_id)
       LEFT JOIN consumer_bookmarks USING (consumer_id)`,
    ).get(consumer) as { acked: number; from_id: number | null; to_id: number | null };
    return { acked, bookmark: from_id === null || to_id === null ? undefined : { from_id, to_id } };
  }

  /** Sets the bookmark only for a consumer that still has this filter: another filter makes the bookmark untrue. */
  setBookmark({ consumer_id, filter }: Subscription, { from_id, to_id }: Bookmark): void {
    this.prepare(
      `INSERT OR REPLACE INTO consumer_bookmarks (consumer_id, from_id, to_id)
       SELECT consumer_id, ?, ? FROM subscriptions WHERE consumer_id = ? AND filter IS ?`,
    ).run(from_id, to_id, consumer_id, filter);
  }

  failure(consumer: string): Failure | undefined {
    const sql =
      'SELECT consumer_id, failures, failed, last_error FROM consumer_failures WHERE consumer_id = ?';
    const row = this.prepare(sql).get(consumer) as Failure | undefined;
    return row && readFailed(row);
  }

  setFailure({ consumer_id, failures, failed, last_error }: Failure, at: string): void {
    this.prepare(
      `INSERT OR REPLACE INTO consumer_failures
       (consumer_id, failures, failed, last_error, updated_at) VALUES (?, ?, ?, ?, ?)`,
    ).run(consumer_id, failures, failed ? 1 : 0, last_error, at);
  }

  clearFailure(consumer: string): void {
    this.prepare('DELETE FROM consumer_failures WHERE consumer_id = ?').run(consumer);
  }

  /** For the log, the number of its lines; for the mirror, the last event that was put aside with an old file. */
  lines(name: LinedFile): number {
    return this.number('SELECT coalesce((SELECT lines FROM file_lines WHERE name = ?), 0)', name);
  }

  addLines(name: LinedFile, count: number): void {
    this.prepare('UPDATE file_lines SET lines = lines + ? WHERE name = ?').run(count, name);
  }

  setLines(name: LinedFile, lines: number): void {
    this.prepare('INSERT OR REPLACE INTO file_lines (name, lines) VALUES (?, ?)').run(name, lines);
  }
}

/** SQLite has no truth values. */
function readFailed<T extends { readonly failed: unknown }>(row: T): T & { failed: boolean } {
  return { ...row, failed: row.failed === 1 };
}

/** Throws CORRUPT for a filter that cannot be read. */
export function compileStored(
  of: Pick<Subscription, 'consumer_id' | 'filter'>,
): CompiledFilter | undefined {
  try {
    return compileText(of.filter);
  } catch (error) {
    const why = (error as Error).message;
    const message = `the stored filter of consumer ${of.consumer_id} cannot be used: ${why}`;
    throw corrupt('events.db', message, { cause: error });
  }
}

/** Throws INVALID for a text that is not a filter. */
export function compileText(text: string | null | undefined): CompiledFilter | undefined {
  const filter = readFilter(text);
  return filter && compileFilter(filter, sqliteDialect);
}
