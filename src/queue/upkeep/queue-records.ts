import { invalid, type QuipuError } from '../../base/errors.ts';
import type { ConsumerRow } from '../events/scan.ts';
import type { QueueEvent } from '../events/queue.ts';
import type { QueueProblem } from './queue-health.ts';

// The queues of a store as a copy sees them, in any kind of storage. This interface reads a queue, and makes a queue
// the copy of another with the same ids and times.
//
// An adoption is one transaction, and is on the disk when it resolves. An adoption continues from the events that are
// there, so a copy that was cut off goes on after the last event of the target. Consumers come when all events are
// there: until then the copy has none, and nobody's handler is woken. The holders of leases and locks are no part of a
// queue and are not copied.

/** A queue at one moment, without its events. */
export interface QueueState {
  /** The last id that was given to an event. */
  readonly lastId: number;
  readonly count: number;
  /** Sorted by name. */
  readonly consumers: readonly ConsumerRow[];
}

/** Events that follow the last one of a queue. */
export interface AdoptedEvents {
  /** The last id that the queue has given so far. */
  readonly after: number;
  readonly events: readonly QueueEvent[];
  /** The last id that the queue has given after the adoption. */
  readonly lastId: number;
}

export interface QueueRecords {
  names(): Promise<readonly string[]>;
  /** Resolves with undefined when there is no such queue. */
  state(queue: string): Promise<QueueState | undefined>;
  /** A page of the events after `after`, in order. The page is empty only at the end. */
  events(queue: string, after: number): Promise<readonly QueueEvent[]>;
  /** Throws the reason why this storage cannot keep such a queue. */
  assertFits(queue: string, state: QueueState): void;
  /** Creates the queue when there is none. Throws INVALID when the queue does not end with `after`. */
  adoptEvents(queue: string, adopted: AdoptedEvents): Promise<void>;
  /**
   * Makes these the consumers of the queue. Throws INVALID when the queue does not end with `lastId`, or when a
   * consumer is further already.
   */
  adoptConsumers(queue: string, state: QueueState): Promise<void>;
  /** Reads everything, and returns the problems found. */
  check(): Promise<readonly QueueProblem[]>;
  close(): void;
}

/** The size of one page of a copy: the number of events, and about the number of bytes of their contents. */
export const COPY_PAGE: { readonly limit: number; readonly maxBytes: number } = {
  limit: 2000,
  maxBytes: 4 << 20,
};

export function hasMoved(queue: string): QuipuError<'INVALID'> {
  return invalid(
    'target',
    `is being written to: queue ${queue} has changed meanwhile; stop whoever uses it, and copy into an empty place`,
  );
}
