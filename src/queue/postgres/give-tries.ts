import type { Database } from '../../postgres/database.ts';
import { parseFilter } from '../filter/parse-filter.ts';
import type { DispatchReport } from '../queue.ts';
import { findPending } from '../scan.ts';
import { knownOf } from './consumer-table.ts';
import type { ConsumerRow } from './consumer-table.ts';
import type { EventTable } from './event-table.ts';

const FORGIVE = `UPDATE quipu.queue_consumers SET retry_at = NULL, waits_after = 0
  WHERE queue = $1 AND consumer_id = ANY($2)`;

/**
 * Lets workers try every consumer that has something to handle, whatever its earlier runs did. Returns these consumers.
 */
export async function giveTries(given: {
  readonly database: Database;
  readonly queue: string;
  readonly events: EventTable;
  readonly rows: readonly ConsumerRow[];
}): Promise<DispatchReport['skipped']> {
  const { database, queue, events, rows } = given;
  const found: { consumer: string; reason: string }[] = [];
  for (const row of rows) {
    if (row.handler_cmd === null) continue;
    const filter = row.filter === null ? undefined : parseFilter(row.filter);
    const { first } = await findPending(events, filter, knownOf(row), Infinity);
    if (first === undefined) continue;
    const reason = row.leased ? 'lock held' : 'left to the workers: quipu queue work';
    found.push({ consumer: row.consumer_id, reason });
  }
  if (found.length === 0) return found;
  await database.query(FORGIVE, [queue, found.map(({ consumer }) => consumer)]);
  return found;
}
