import { LAG_MAX } from './limits.ts';
import type { ConsumerProgress, QueueInfo, RunningHandler } from './queue.ts';
import { countMatches, startFor, type EventReader, type Known } from './scan.ts';

/** Everything that a queue keeps of a consumer, apart from what only saves reading. */
export interface ConsumerRow {
  readonly consumer_id: string;
  /** Null: the consumer is not subscribed, and has progress. */
  readonly handler_cmd: string | null;
  readonly filter: string | null;
  readonly last_acked_id: number;
  /** Null: the consumer has not popped yet. */
  readonly updated_at: string | null;
  /** The number of failed runs in a row. */
  readonly failures: number;
  readonly failed: boolean;
  /** Null: the handler did not fail the last time. */
  readonly last_error: string | null;
}

/** What nobody has written down about a consumer. */
interface Seen {
  readonly lag: number | null;
  readonly isRunning: boolean;
  readonly handler?: RunningHandler | undefined;
}

/** Everything known about the consumers of a queue. `look` is not asked for all at once. */
export async function describeConsumers<R extends ConsumerRow>(
  rows: readonly R[],
  look: (row: R) => Promise<Seen>,
): Promise<Pick<QueueInfo, 'subscriptions' | 'progress'>> {
  const progress: ConsumerProgress[] = [];
  for (const row of rows) {
    const { consumer_id, last_acked_id, updated_at, failures, failed, last_error } = row;
    const { lag, isRunning, handler } = await look(row);
    progress.push({
      consumer_id,
      last_acked_id,
      updated_at,
      lag,
      state: failed ? 'failed' : isRunning ? 'running' : 'idle',
      ...(handler !== undefined && { handler }),
      failures,
      last_error,
    });
  }
  const subscriptions = rows.flatMap(({ consumer_id, handler_cmd, filter }) =>
    handler_cmd === null ? [] : [{ consumer_id, handler_cmd, filter }],
  );
  return { subscriptions, progress };
}

/** The number of events that a subscribed consumer has to handle. */
export function countLag<F>(
  events: EventReader<F>,
  filter: F | undefined,
  { acked, bookmark }: Known,
): Promise<number> {
  return countMatches(events, filter, { after: startFor(acked, bookmark), limit: LAG_MAX });
}
