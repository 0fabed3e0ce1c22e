// What is measured, side by side. A driver does what a careful programmer would do with its means:
// an append that resolved survives a power cut.

/**
 * `tcp` and `http` are Quipu behind a server: one client, over TCP one connection. `tcp-each` has a connection
 * for each thread.
 */
export type DriverName =
  | 'quipu'
  | 'tcp'
  | 'tcp-each'
  | 'http'
  | 'raw-file'
  | 'sqlite'
  | 'json-lines'
  | 'postgres'
  | SaverName
  | StreamsName;

/** Savers of checkpoints for LangGraph. Those of LangGraph: SQLite as it comes and with a sync, and PostgreSQL. */
export type SaverName =
  | 'quipu-saver'
  | 'sqlite-saver'
  | 'sqlite-saver-full'
  | 'quipu-postgres-saver'
  | 'postgres-saver';

/** Servers of Durable Streams. */
export type StreamsName = 'quipu-streams' | 'streams-server';

/** Keeps bytes, one after another. */
export interface Appender {
  /** A new, empty thread. */
  create(): Promise<number>;
  append(thread: number, payload: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** Keeps what an agent needs of its conversations. */
export interface Conversations extends Appender {
  /** The newest `n` turns, parsed. */
  values(thread: number, n: number): Promise<unknown[]>;
  /** Where to fork; found before the clock starts. */
  turnAt(thread: number, depth: number): Promise<ForkPoint>;
  /** A new thread that goes on after `point`. */
  fork(point: ForkPoint): Promise<number>;
}

/** Keeps threads that can be read at any place. */
export interface History extends Conversations {
  /** As `append`, many in one go and without the promise of durability. */
  fill(thread: number, payloads: Iterable<Uint8Array>): Promise<void>;
  /** Bytes of payload in the newest `n` turns, each read. */
  last(thread: number, n: number): Promise<number>;
  /** Bytes of payload in the turns with `from <= depth < to`, each read. */
  range(thread: number, from: number, to: number): Promise<number>;
}

export interface ForkPoint {
  readonly thread: number;
  readonly depth: number;
  readonly turn: bigint;
}

export interface DriverOptions {
  /** False: nothing waits for the disk, so that what is left to see is the work itself. A server always does. */
  readonly sync?: boolean;
}
