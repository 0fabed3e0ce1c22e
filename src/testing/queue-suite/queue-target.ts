import type { Queues } from '../../queue/events/queue.ts';

/** Queues under test, with any storage behind them. */
export interface QueueTarget {
  readonly name: string;
  /** The number of random cases of each comparison, default 20: fewer where each call takes long. */
  readonly randomRuns?: number;
  /** Opens fresh and empty queues for one test, which cleans up after itself. No handler is run by itself. */
  open(): Promise<OpenedQueues>;
}

export interface OpenedQueues {
  readonly queues: Queues;
  /** The same queues, as another process sees them. */
  readonly elsewhere: Queues;
  close(): Promise<void>;
}
