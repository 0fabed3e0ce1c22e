import type { Artifacts, SavedArtifact } from './artifacts/artifacts.ts';
import type { ExportReport } from './carry/export-session.ts';
import type { SessionForkOptions, ForkReport } from './carry/fork-session.ts';
import type { MoveReport } from './carry/move-session.ts';
import type { SessionEntry, SessionHeader, NewEntry } from './entries/session-entry.ts';
import type {
  SessionsPage,
  SessionDetails,
  TidyOptions,
  TidyReport,
} from './keep/manage-sessions.ts';
import type {
  SessionReadOptions,
  SessionLastOptions,
  LoadedEntry,
  SessionView,
} from './log/read-entries.ts';
import type { OutputSink, SinkOptions } from './sink/output-sink.ts';
import type { LineRange } from './urls/read-range.ts';
import type { Resource } from './urls/resolve-url.ts';

export interface SessionOptions {
  /** Removes secrets from an entry before any part of it is written. */
  readonly redact?: (entry: SessionEntry) => SessionEntry;
}

export interface NewSession extends SessionOptions {
  /** The folder that the session is about; default the current one. */
  readonly cwd?: string;
  /** The folder of its file; default a folder for `cwd` inside the store. */
  readonly folder?: string;
  /** More fields for the header, such as a title. */
  readonly header?: Readonly<Record<string, unknown>>;
  /** For a subagent: it shares the artifacts of this session, and is kept among them. Needs `agentId`. */
  readonly parent?: Session;
  /** From `parent.artifacts.allocateAgent`. */
  readonly agentId?: string;
  /** True: leave no trace on disk. Default false. */
  readonly inMemory?: boolean;
}

/**
 * Sessions are JSON Lines files with a folder of artifacts beside each. The files may be anywhere. The blobs that they
 * refer to are in the store. A session is named by its id or by the path of its file.
 */
export interface Sessions {
  create(options?: NewSession): Promise<Session>;
  open(session: string, options?: SessionOptions): Promise<Session>;
  /** Sorted by id. The call reads a bounded part of each file. */
  list(options?: { readonly limit?: number; readonly cursor?: string }): Promise<SessionsPage>;
  details(session: string): Promise<SessionDetails>;
  fork(session: string, options?: SessionForkOptions): Promise<ForkReport>;
  /**
   * Moves a session to another folder. With `{ cwd }`, the target is the folder where a session about `cwd` would
   * begin.
   */
  move(
    session: string,
    to: string | { readonly cwd: string },
    options?: { readonly cwd?: string },
  ): Promise<MoveReport>;
  /**
   * Removes file and artifacts. The next garbage collection removes the blobs, unless something else refers to them.
   */
  remove(session: string): Promise<void>;
  /** Puts a header, made from the name of the file, before a file that cannot be opened without one. */
  recoverHeader(file: string): Promise<SessionHeader>;
  /** Returns the text at `artifact://…` or `agent://…`, of the session given first, then of all that are open. */
  resolve(url: string, options?: LineRange & { readonly session?: string }): Promise<Resource>;
  /** Writes everything of a session to a folder of its own: the file, the artifacts, the blobs. */
  export(session: string, folder: string): Promise<ExportReport>;
  /** Imports a folder that `export` wrote, here or on another machine. */
  import(folder: string, options?: { readonly folder?: string }): Promise<Session>;
  tidy(options?: TidyOptions): Promise<TidyReport>;
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
