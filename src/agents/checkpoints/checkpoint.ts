// What a program saves of an agent, and what it gets back. `checkpoints.ts` has the verbs.

/** One text, or several for a thread within a thread, such as `['ticket-1', 'researcher']`. */
export type ThreadName = string | readonly string[];

export interface NewCheckpoint {
  /** The newest checkpoint is the one whose id sorts last. Default: a ULID that sorts behind those that are there. */
  readonly id?: string;
  /** The checkpoint that this one continues. Default: the newest one of the thread; null for none. */
  readonly parent?: string | null;
  /** The whole state, by name. A name that the parent has and this has not is gone from here on. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The names that may differ from the parent. Other values of the parent stay without a look at them. Default: all. */
  readonly changed?: readonly string[];
  /** What listings ask for, such as the number of the step. */
  readonly metadata?: unknown;
  /** What belongs to the state besides its values, such as their versions. */
  readonly details?: unknown;
}

/** What a listing decides by, before it reads the values. */
export interface CheckpointHeader {
  readonly thread: readonly string[];
  readonly id: string;
  readonly parent?: string;
  readonly metadata?: unknown;
}

export interface Checkpoint extends CheckpointHeader {
  readonly values: Record<string, unknown>;
  readonly details?: unknown;
  readonly writes: readonly PendingWrite[];
}

export interface NewWrite {
  readonly name: string;
  readonly value: unknown;
  /**
   * The number of the write in its task. Default: its place in the call, from 0. A number that is there already is
   * passed over, so a task may send its writes again. Of writes with the same number below 0, the last one counts.
   */
  readonly number?: number;
}

/** What a task has done since a checkpoint. A program that continues from there need not do it again. */
export interface PendingWrite {
  readonly task: string;
  readonly name: string;
  readonly value: unknown;
}

export interface CheckpointListOptions {
  /** Only checkpoints whose id sorts before this one. */
  readonly before?: string;
  readonly where?: (header: CheckpointHeader) => boolean;
}

/** Turns values into bytes of some form and back. Equal bytes mean equal values. */
export interface ValueCodec {
  /** The form `json` is JSON in UTF-8. Others have names of your own. */
  encode(value: unknown): Encoded | Promise<Encoded>;
  /** Gets `json` as text. The elements of a list may come in one array, and give an array. */
  decode(form: string, bytes: Uint8Array | string): unknown;
  /** Prototypes of classes whose bytes follow from the class and the fields. Plain objects and arrays always do. */
  readonly plain?: Iterable<object>;
}

export type Encoded = readonly [form: string, bytes: Uint8Array];

export interface CheckpointOptions {
  /** The first part of the names of contexts. Default 'checkpoints'. */
  readonly prefix?: string;
  /** The kind of the contexts, and the first part of the types of turns. Default 'agent'. */
  readonly kind?: string;
  /** Default: JSON, and `Uint8Array` as it is. */
  readonly codec?: ValueCodec;
}
