import type { Artifacts, SavedArtifact } from './artifacts/artifacts.ts';
import type { SessionForkOptions, ForkReport } from './carry/fork-session.ts';
import type { MoveReport } from './carry/move-session.ts';
import type { SessionWarning } from './entries/hydrate-entry.ts';
import type { NewEntry, SessionEntry, SessionHeader } from './entries/session-entry.ts';
import type { OutputSink } from './sink/output-sink.ts';
import type { SinkOptions } from './sink/sink-options.ts';
import type { LineRange } from './urls/read-range.ts';
import type { Resource } from './urls/resolve-url.ts';

export interface SessionReadOptions {
  /** Put pictures back where they were; default true. With false, only the session file is read. */
  readonly hydrate?: boolean;
}

export interface SessionLastOptions extends SessionReadOptions {
  /** The cursor of an earlier page: go on towards the beginning. */
  readonly before?: number;
}

export interface LoadedEntry {
  readonly entry: SessionEntry;
  /** References left in the entry because their blob is missing. Do not send them to a model. */
  readonly unresolved: readonly string[];
  /** Problems with the entry: a blob that is missing, a line that differs from what was written. */
  readonly warnings: readonly SessionWarning[];
}

/** Entries in the order of the file, with the problems found in them. */
export interface SessionView {
  readonly entries: readonly SessionEntry[];
  readonly unresolved: readonly string[];
  readonly warnings: readonly SessionWarning[];
  /** Lines, or parts of lines, that could not be read. They are still in the file. */
  readonly malformedLines: number;
  /** Present when there are more entries before these. */
  readonly cursor?: number;
}

export interface SinkRequest extends Omit<SinkOptions, 'artifact'> {
  /** Part of the name of the file, such as `bash`; default `tool`. */
  readonly toolType?: string;
  /** False: show the part that fits and keep nothing else. */
  readonly spill?: boolean;
}

/** The history of one agent: a tree of entries, of which one is the leaf that goes on. */
export interface Session {
  readonly id: string;
  readonly header: SessionHeader;
  /** Undefined for a session in memory. The path changes when the session moves. */
  readonly file: string | undefined;
  /** The entry that the next one follows; null at the beginning. */
  readonly leaf: string | null;
  readonly artifacts: Artifacts;

  /**
   * The entry is durable when this resolves. Rejects with INVALID for an id that is taken, and with NOT_FOUND for a
   * parent that is not there. If it rejects otherwise, the entry waits, and is written with the next one or by `flush`:
   * do not append it again.
   */
  append(entry: NewEntry): Promise<SessionEntry>;
  /** Writes the entries that wait. */
  flush(): Promise<void>;
  /** Goes on from another entry, or from the beginning. Rejects with NOT_FOUND for an entry that is not there. */
  setLeaf(id: string | null): Promise<void>;

  /** Yields all entries, one at a time, whatever the size of the file. */
  entries(options?: SessionReadOptions): AsyncIterable<LoadedEntry>;
  /** Returns all entries at once. */
  load(options?: SessionReadOptions): Promise<SessionView>;
  /** Returns the last `count` entries of the file. The rest of the file is not read. */
  last(count: number, options?: SessionLastOptions): Promise<SessionView>;
  /** Returns the entries from the beginning to the leaf, or to another entry, without side branches. */
  branch(leaf?: string, options?: SessionReadOptions): Promise<SessionView>;

  saveArtifact(text: string, toolType: string): Promise<SavedArtifact>;
  /** A sink for the output of a program; it spills into an artifact of this session. */
  sink(request?: SinkRequest): OutputSink;
  /** Returns the text at `artifact://…` or `agent://…`, of this session first. */
  resolve(url: string, range?: LineRange): Promise<Resource>;

  fork(options?: SessionForkOptions): Promise<ForkReport>;
  /**
   * Moves the session to another folder, with its artifacts. With `{ cwd }`, the target is the folder where a session
   * about `cwd` would begin.
   */
  moveTo(
    to: string | { readonly cwd: string },
    options?: { readonly cwd?: string },
  ): Promise<MoveReport>;
  /** Makes a session in memory one with a file, under the same ids. */
  persist(options?: { readonly folder?: string }): Promise<Session>;
  /** Writes the entries that wait. Addresses no longer lead to its artifacts. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
