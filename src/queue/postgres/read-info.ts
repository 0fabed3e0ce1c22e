import { LAG_MAX } from '../limits.ts';
import { parseFilter } from '../filter/parse-filter.ts';
import type { ConsumerProgress, QueueInfo } from '../queue.ts';
import { countMatches, startFor } from '../scan.ts';
import { knownOf } from './consumer-table.ts';
import type { ConsumerRow } from './consumer-table.ts';
import type { EventTable } from './event-table.ts';

/** Everything known about a queue. `thread`: the place of the queue. */
export async function readInfo(
  thread: string,
  events: EventTable,
  rows: readonly ConsumerRow[],
): Promise<QueueInfo> {
  const newest = await events.newestId();
  const progress: ConsumerProgress[] = [];
  for (const row of rows) progress.push(toProgress(row, await lagOf(events, row)));
  return {
    thread,
    // Ids have no gaps, and nothing deletes events.
    event_count: newest,
    last_event_id: newest,
    subscriptions: rows.flatMap(({ consumer_id, handler_cmd, filter }) =>
      handler_cmd === null ? [] : [{ consumer_id, handler_cmd, filter }],
    ),
    progress,
  };
}

async function lagOf(events: EventTable, row: ConsumerRow): Promise<number | null> {
  if (row.handler_cmd === null) return null;
  const { acked, bookmark } = knownOf(row);
  const filter = row.filter === null ? undefined : parseFilter(row.filter);
  return countMatches(events, filter, { after: startFor(acked, bookmark), limit: LAG_MAX });
}

function toProgress(row: ConsumerRow, lag: number | null): ConsumerProgress {
  const { consumer_id, last_acked_id, updated_at, failures, failed, leased, last_error } = row;
  const state = failed ? 'failed' : leased ? 'running' : 'idle';
  return { consumer_id, last_acked_id, updated_at, lag, state, failures, last_error };
}
