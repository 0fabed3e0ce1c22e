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
  /** Put pictures back where they were; default true. Without it nothing but the session file is read. */
  readonly hydrate?: boolean;
}

export interface SessionLastOptions extends SessionReadOptions {
  /** From the page before: go on towards the beginning. */
  readonly before?: number;
}

export interface LoadedEntry {
  readonly entry: SessionEntry;
  /** References left in it because their blob is missing. Not to be sent to a model. */
  readonly unresolved: readonly string[];
  /** What is odd about it: a blob that is missing, a line that is not what was written. */
  readonly warnings: readonly SessionWarning[];
}

/** Entries in the order of the file, with all that was odd about them. */
export interface SessionView {
  readonly entries: readonly SessionEntry[];
  readonly unresolved: readonly string[];
  readonly warnings: readonly SessionWarning[];
  /** Lines, or parts of lines, that could not be read. They are still in the file. */
  readonly malformedLines: number;
  /** Present when there is more before these. */
  readonly cursor?: number;
}

export interface SinkRequest extends Omit<SinkOptions, 'artifact'> {
  /** Part of the name of the file, such as `bash`; default `tool`. */
  readonly toolType?: string;
  /** False: show what fits and keep nothing else. */
  readonly spill?: boolean;
}

/** What one agent said and did: a tree of entries, of which one is the leaf that goes on. */
export interface Session {
  readonly id: string;
  readonly header: SessionHeader;
  /** Undefined for a session in memory. Moves with the session. */
  readonly file: string | undefined;
  /** The entry that the next one follows; null at the beginning. */
  readonly leaf: string | null;
  readonly artifacts: Artifacts;

  /**
   * Durable when it resolves. An id that is taken is INVALID, a parent that is not there NOT_FOUND. If it rejects otherwise, the entry waits, and is written with the next one or by `flush`: do not
   * append it again.
   */
  append(entry: NewEntry): Promise<SessionEntry>;
  /** Writes what waits. */
  flush(): Promise<void>;
  /** Go on from another entry, or from the beginning. NOT_FOUND for one that is not there. */
  setLeaf(id: string | null): Promise<void>;

  /** Everything, one entry at a time, whatever the size of the file. */
  entries(options?: SessionReadOptions): AsyncIterable<LoadedEntry>;
  /** Everything at once. */
  load(options?: SessionReadOptions): Promise<SessionView>;
  /** The last `count` entries of the file. The rest of it is not read. */
  last(count: number, options?: SessionLastOptions): Promise<SessionView>;
  /** From the beginning to the leaf, or to another entry, without what lies beside. */
  branch(leaf?: string, options?: SessionReadOptions): Promise<SessionView>;

  saveArtifact(text: string, toolType: string): Promise<SavedArtifact>;
  /** For the output of a program; it spills into an artifact of this session. */
  sink(request?: SinkRequest): OutputSink;
  /** The text at `artifact://…` or `agent://…`, of this session first. */
  resolve(url: string, range?: LineRange): Promise<Resource>;

  fork(options?: SessionForkOptions): Promise<ForkReport>;
  /** To another folder, with its artifacts; for `{ cwd }` to the one where a session about that would begin. */
  moveTo(
    to: string | { readonly cwd: string },
    options?: { readonly cwd?: string },
  ): Promise<MoveReport>;
  /** Makes a session in memory one with a file, under the same ids. */
  persist(options?: { readonly folder?: string }): Promise<Session>;
  /** Writes what waits, and takes its artifacts out of what addresses lead to. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
