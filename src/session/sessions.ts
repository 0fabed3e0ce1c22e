import type { SessionForkOptions, ForkReport } from './carry/fork-session.ts';
import type { MoveReport } from './carry/move-session.ts';
import type { SessionEntry, SessionHeader } from './entries/session-entry.ts';
import type { Session } from './session.ts';
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

export interface SessionSummary {
  readonly id: string;
  readonly file: string;
  /** False when the file is not there, or cannot be read: the other fields are then unknown. */
  readonly available: boolean;
  readonly header?: SessionHeader;
  readonly sizeBytes?: number;
  /** The time of the last entry. */
  readonly updatedAt?: string;
}

export interface SessionsPage {
  readonly items: readonly SessionSummary[];
  readonly cursor?: string;
}

export interface SessionDetails extends SessionSummary {
  readonly artifactsFolder?: string;
  /** Ids of tool outputs, by number. */
  readonly artifacts: readonly string[];
  readonly agentOutputs: readonly string[];
  readonly artifactBytes: number;
  /** The number of blobs that the session refers to. */
  readonly blobs: number;
}

export interface ExportReport {
  readonly folder: string;
  readonly id: string;
  readonly blobs: number;
  /** References whose blobs the store does not have. */
  readonly missing: readonly string[];
}

export interface TidyOptions {
  /** Remove sessions whose last entry is older. */
  readonly maxAgeMs?: number;
  /** Remove the oldest sessions until files and artifacts take no more than this. */
  readonly maxBytes?: number;
  /** Forget sessions whose file is gone, and release their blobs. */
  readonly forgetMissing?: boolean;
  /** Remove files that were begun and never finished. Only while no agent is at work. */
  readonly drafts?: boolean;
  readonly dryRun?: boolean;
}

export interface TidyReport {
  readonly sessions: number;
  /** Bytes of files and artifacts, before the removal. */
  readonly bytes: number;
  readonly removed: readonly {
    readonly id: string;
    readonly file: string;
    readonly bytes: number;
  }[];
  /** Sessions that the store knows, and whose file is gone. */
  readonly missing: readonly { readonly id: string; readonly file: string }[];
  readonly forgotten: number;
  readonly drafts: number;
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
