import type { Log } from './log.ts';
import type { TlsFiles } from './read-tls.ts';

/** What one client may cost. Each has a default. */
export interface ServerLimits {
  /** At a time, for each listener. */
  readonly connections?: number;
  /** Of the body of an HTTP request. */
  readonly bodyBytes?: number;
  /** Requests that one connection has sent and that are not answered yet. */
  readonly pendingBytes?: number;
  /** A request of the binary protocol is answered within this time, if only with an error. */
  readonly answerMs?: number;
  /** A client that stops midway is cut off after this. */
  readonly stallMs?: number;
  /** An HTTP connection without a request is kept this long. */
  readonly idleMs?: number;
}

export interface ServerOptions {
  /** The folder; made when it is not there. */
  readonly store: string;
  readonly host: string;
  /** 0 for any port that is free. */
  readonly httpPort: number;
  readonly tcpPort: number;
  readonly tokenFile: string;
  readonly allowAnonymous: boolean;
  /** Let those who show a token with the scope admin bring programs that others run. */
  readonly allowHandlers: boolean;
  /** Origins whose pages may use HTTP. */
  readonly origins: readonly string[];
  readonly tls?: TlsFiles;
  readonly limits: ServerLimits;
  /** Fill an empty store with a sample. */
  readonly demo: boolean;
  readonly version: string;
  readonly log: Log;
}
