import type { SessionForkOptions, ForkReport } from './carry/fork-session.ts';
import type { MoveReport } from './carry/move-session.ts';
import type { SessionEntry, SessionHeader } from './entries/session-entry.ts';
import type { Session } from './session.ts';
import type { LineRange } from './urls/read-range.ts';
import type { Resource } from './urls/resolve-url.ts';

export interface SessionOptions {
  /** Takes secrets out of an entry before anything of it is written. */
  readonly redact?: (entry: SessionEntry) => SessionEntry;
}

export interface NewSession extends SessionOptions {
  /** The folder the session is about; default the current one. */
  readonly cwd?: string;
  /** Where its file goes; default a folder for `cwd` inside the store. */
  readonly folder?: string;
  /** More for the header, such as a title. */
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
  /** False when the file is not there, or cannot be read: the rest is then unknown. */
  readonly available: boolean;
  readonly header?: SessionHeader;
  readonly sizeBytes?: number;
  /** Time of the last entry. */
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
  /** Blobs that it refers to. */
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
  /** Remove the oldest until files and artifacts take no more than this. */
  readonly maxBytes?: number;
  /** Forget sessions whose file is gone, and let go of their blobs. */
  readonly forgetMissing?: boolean;
  /** Remove files that were begun and never finished. Only while no agent is at work. */
  readonly drafts?: boolean;
  readonly dryRun?: boolean;
}

export interface TidyReport {
  readonly sessions: number;
  /** Of files and artifacts, before. */
  readonly bytes: number;
  readonly removed: readonly {
    readonly id: string;
    readonly file: string;
    readonly bytes: number;
  }[];
  /** Known to the store, and their file is gone. */
  readonly missing: readonly { readonly id: string; readonly file: string }[];
  readonly forgotten: number;
  readonly drafts: number;
}

/**
 * Sessions are JSON Lines files with a folder of artifacts beside each. The files may be anywhere; what they refer to
 * is in the store. A session is named by its id or by the path of its file.
 */
export interface Sessions {
  create(options?: NewSession): Promise<Session>;
  open(session: string, options?: SessionOptions): Promise<Session>;
  /** By id. A bounded part of each file is read. */
  list(options?: { readonly limit?: number; readonly cursor?: string }): Promise<SessionsPage>;
  details(session: string): Promise<SessionDetails>;
  fork(session: string, options?: SessionForkOptions): Promise<ForkReport>;
  /** To another folder; for `{ cwd }` to the one where a session about that would begin. */
  move(
    session: string,
    to: string | { readonly cwd: string },
    options?: { readonly cwd?: string },
  ): Promise<MoveReport>;
  /** File and artifacts; blobs go with the next collection, unless something else refers to them. */
  remove(session: string): Promise<void>;
  /** Puts a header, made from the name of the file, before what cannot be opened without one. */
  recoverHeader(file: string): Promise<SessionHeader>;
  /** The text at `artifact://…` or `agent://…`, of the session given first, then of all that are open. */
  resolve(url: string, options?: LineRange & { readonly session?: string }): Promise<Resource>;
  /** Everything of a session in a folder of its own: the file, the artifacts, the blobs. */
  export(session: string, folder: string): Promise<ExportReport>;
  /** Takes in what `export` wrote, here or on another machine. */
  import(folder: string, options?: { readonly folder?: string }): Promise<Session>;
  tidy(options?: TidyOptions): Promise<TidyReport>;
}
