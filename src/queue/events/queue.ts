// The contract of a queue: events in the order they were pushed, consumers with a filter and their own progress.
//
// Durability: a push resolves once its events would survive a power cut. A batch is stored whole or not at all.
// Order: ids rise by one in the order of pushing. A consumer gets the events that match its filter by rising id.
// Delivery: at least once. An event that a consumer has not acknowledged comes again.
// Waking: after a push, the handler of every consumer with events to handle runs, never twice at the same time.

export type EventType = 'message' | 'record';

export interface NewEvent {
  /** The sender: `external:…`, `internal:…`, `self`, or a plain name. */
  readonly source: string;
  readonly type: EventType;
  /** A lower-case word. */
  readonly subtype?: string | null;
  /** The queue keeps the content as it is and does not look into it. */
  readonly content: string;
}

/** The fields are named and ordered as the columns of the table and the keys of the lines that commands print. */
export interface QueueEvent {
  readonly id: number;
  /** ISO 8601 with milliseconds. */
  readonly created_at: string;
  readonly source: string;
  readonly type: string;
  readonly subtype: string | null;
  readonly content: string;
}

export interface NewSubscription {
  /** Any text that can be a name: no slashes, no control characters, no hyphen first. */
  readonly consumer: string;
  /** A command of one line for the shell, run when there are events to handle. */
  readonly handler: string;
  /** A condition over the columns that selects events. Absent: all. */
  readonly filter?: string | null;
}

export interface Subscription {
  readonly consumer_id: string;
  readonly handler_cmd: string;
  readonly filter: string | null;
}

/** The id of an event as callers may give it. A string has decimal digits. */
export type EventIdLike = number | bigint | string;

export interface PopOptions {
  /** The newest event that was handled, 0 for none. The call acknowledges it with all before it. */
  readonly lastEventId: EventIdLike;
  /** The largest number of events. Default 100. */
  readonly limit?: number;
  /** Ends the page with the event that takes its contents past this. Default 64 MiB. */
  readonly maxBytes?: number;
  /**
   * The lease under which a worker runs the handler that asks, from `QUIPU_FENCE` in its environment. The call throws
   * LOCKED when that lease is over, and, without a fence, while a worker holds a lease. Queues in a folder have locks
   * instead, and no fences.
   */
  readonly fence?: number;
}

export interface PeekOptions extends Omit<PopOptions, 'fence'> {
  readonly filter?: string;
}

export interface QueueFollowOptions {
  /** Begin after this event. Default 0, the beginning. */
  readonly lastEventId?: EventIdLike;
  readonly filter?: string;
  /** Ends the iteration. The iterator then returns, and does not throw. */
  readonly signal?: AbortSignal;
}

/** `running`: the handler runs. `failed`: the handler failed too often in a row; the next push gives it one try. */
export type ConsumerState = 'idle' | 'running' | 'failed';

/** A handler that runs, with all that it started: one process group. */
export interface RunningHandler {
  /** The number of the group. `kill -- -<pid>` ends the group. */
  readonly pid: number;
  /** ISO 8601 with milliseconds. */
  readonly since: string;
}

export interface ConsumerProgress {
  readonly consumer_id: string;
  readonly last_acked_id: number;
  /** Null: the consumer has not popped yet. */
  readonly updated_at: string | null;
  /** Events that match and are not acknowledged, counted up to 10,000. Null without a subscription. */
  readonly lag: number | null;
  readonly state: ConsumerState;
  /** Present while a handler runs. */
  readonly handler?: RunningHandler;
  /** The number of failed runs in a row. */
  readonly failures: number;
  /** The text of the last failure. */
  readonly last_error: string | null;
}

export interface QueueInfo {
  /** The folder, or the database and the name of the queue in it. */
  readonly thread: string;
  readonly event_count: number;
  readonly last_event_id: number;
  readonly subscriptions: readonly Subscription[];
  readonly progress: readonly ConsumerProgress[];
}

export interface DispatchReport {
  /** Consumers whose handlers were started. */
  readonly started: readonly string[];
  /** Consumers with events to handle that were not started, with the reasons. */
  readonly skipped: readonly { readonly consumer: string; readonly reason: string }[];
}

export interface Queue {
  /** Resolves with the id of the event. */
  push(event: NewEvent): Promise<number>;
  /** Stores all events or none, with ids one after the other. */
  pushBatch(events: readonly NewEvent[]): Promise<number[]>;
  /** Acknowledges, then returns the next events for this consumer. Throws NOT_FOUND without a subscription. */
  pop(consumer: string, options: PopOptions): Promise<QueueEvent[]>;
  /** Reads and changes nothing. */
  peek(options: PeekOptions): Promise<QueueEvent[]>;
  subscribe(subscription: NewSubscription): Promise<Subscription>;
  /** The progress stays: a consumer that subscribes again goes on where it was. */
  unsubscribe(consumer: string): Promise<void>;
  info(): Promise<QueueInfo>;
  /** Starts the handlers that have something to do. A push does this by itself. */
  dispatch(): Promise<DispatchReport>;
  /** Yields the events that are there, then new ones as they come. */
  follow(options?: QueueFollowOptions): AsyncIterable<QueueEvent>;
}

export interface QueueSummary {
  readonly name: string;
  readonly event_count: number;
  readonly last_event_id: number;
  readonly subscriptions: number;
}

export interface OpenQueueOptions {
  /** Create the queue when there is none. Default true. */
  readonly create?: boolean;
}

/** One step of a worker's work. */
export interface WorkNote {
  readonly queue: string;
  readonly consumer: string;
  /** `lost`: another worker got the lease, so the handler was stopped. */
  readonly what: 'started' | 'ended' | 'failed' | 'lost';
  /** The command, the way it ended, or the reason why it failed. */
  readonly text: string;
}

export interface WorkOptions {
  /** Work on these queues only. Absent: all queues, also future ones. */
  readonly queues?: readonly string[];
  /** Work for consumers with these ids only. */
  readonly consumers?: readonly string[];
  /** End when there is nothing left to handle. Default false. */
  readonly once?: boolean;
  /** The number of handlers at a time. Default 4. */
  readonly jobs?: number;
  /** After this long without a sign of this worker, others handle its events. Default 15,000. */
  readonly leaseMs?: number;
  /** Ends the work: handlers that run have 10 seconds to end. */
  readonly signal?: AbortSignal;
  /** More variables for the environment of handlers. */
  readonly env?: Readonly<Record<string, string>>;
  readonly note?: (note: WorkNote) => void;
}

export interface Queues {
  open(name: string, options?: OpenQueueOptions): Promise<Queue>;
  /** Sorted by name. */
  list(): Promise<QueueSummary[]>;
  /**
   * Runs the handlers of consumers on this machine until the signal ends the work. For queues on PostgreSQL, where a
   * push starts nothing. Throws UNSUPPORTED for others.
   */
  work(options?: WorkOptions): Promise<void>;
}

export interface OwnedQueues extends Queues {
  /** Stores what was pushed and starts the handlers that it wakes. */
  close(): Promise<void>;
}
