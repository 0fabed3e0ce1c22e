import type { Database } from '../../postgres/database.ts';
import type { QueueProblem } from '../verify-queues.ts';
import { hasQueueTables } from './has-queue-tables.ts';

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
