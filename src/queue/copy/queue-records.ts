import type { QueueEvent, Subscription } from '../queue.ts';
import type { QueueProblem } from '../verify-queues.ts';

// The queues of a store as a copy sees them, whatever keeps them: what can be read of one, and how one becomes the
// copy of another with the same ids and times.
//
// An adoption is one transaction, on the disk when it resolves. It continues what is there, so a copy that was cut off
// goes on after the last event of the target. Consumers come when all events are there: until then the copy has none,
// and nobody's handler is woken. Who holds a lease or a lock is no part of a queue and stays where it is.

/** All there is to know of a consumer, apart from what saves reading. */
export interface ConsumerRecord {
  readonly consumer_id: string;
  /** Null: it is not subscribed, and has progress. */
  readonly subscription: Omit<Subscription, 'consumer_id'> | null;
  /** Null: it has not popped yet. */
  readonly progress: { readonly last_acked_id: number; readonly updated_at: string } | null;
  /** Null: its handler did not fail the last time. */
  readonly failure: {
    readonly failures: number;
    readonly failed: boolean;
    readonly last_error: string;
  } | null;
}

/** A queue at one moment, without its events. */
export interface QueueState {
  /** The last id that was given to an event. */
  readonly lastId: number;
  readonly count: number;
  /** By name. */
  readonly consumers: readonly ConsumerRecord[];
}

/** Events that follow the last one of a queue. */
export interface AdoptedEvents {
  /** The last id that the queue has given so far. */
  readonly after: number;
  readonly events: readonly QueueEvent[];
  /** The last id that it has given then. */
  readonly lastId: number;
}

export interface QueueRecords {
  names(): Promise<readonly string[]>;
  /** Undefined when there is no such queue. */
  state(queue: string): Promise<QueueState | undefined>;
  /** A page of those after `after`, in order; empty at the end alone. */
  events(queue: string, after: number): Promise<readonly QueueEvent[]>;
  /** Throws why it could not keep such a queue. */
  assertFits(queue: string, state: QueueState): void;
  /** Makes the queue when there is none. INVALID when it does not end with `after`. */
  adoptEvents(queue: string, adopted: AdoptedEvents): Promise<void>;
  /** Makes these its consumers. INVALID when it does not end with `lastId`, or one of them is further already. */
  adoptConsumers(queue: string, state: QueueState): Promise<void>;
  /** Reads everything, and tells what is wrong. */
  check(): Promise<readonly QueueProblem[]>;
  close(): void;
}
