import type { Queues } from '../../queue/queue.ts';

/** Queues under test, whatever is behind them. */
export interface QueueTarget {
  readonly name: string;
  /** How many random cases go through each comparison, default 20: fewer where each call takes long. */
  readonly randomRuns?: number;
  /** Queues of their own, fresh and empty, for one test, which cleans up after it. No handler is run by itself. */
  open(): Promise<OpenedQueues>;
}

export interface OpenedQueues {
  readonly queues: Queues;
  /** The same queues, as another process sees them. */
  readonly elsewhere: Queues;
  close(): Promise<void>;
}
