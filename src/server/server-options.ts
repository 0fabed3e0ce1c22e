import type { Opened } from './open-served.ts';
import type { HttpLimits } from './http/exchange/route.ts';
import type { McpService } from './http/routes/mcp.ts';
import type { Log, LogLevel } from './log/log.ts';
import type { BinaryLimits } from './request/request.ts';

export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

/** Limits on the cost of one client. Each has a default. */
type ServerLimits = Partial<
  Pick<HttpLimits, 'connections' | 'bodyBytes' | 'stallMs' | 'keepAliveMs'> &
    Pick<BinaryLimits, 'pipelinedBytes' | 'answerMs'>
>;

/** PEM files. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface ServerOptions {
  /** The folder of the store; created when it does not exist. */
  readonly store: string;
  readonly host: string;
  /** 0 for any port that is free. */
  readonly httpPort: number;
  readonly tcpPort: number;
  /** A port where every path answers as cxdb's server does. Default: there is none. */
  readonly cxdbPort?: number;
  readonly tokenFile: string;
  /** Admit every client that can connect, from anywhere. */
  readonly allowAnonymous: boolean;
  /** Let clients with an admin token bring programs that others run. */
  readonly allowHandlers: boolean;
  /** The origins whose pages may use HTTP. */
  readonly origins: readonly string[];
  readonly tls?: TlsFiles;
  readonly limits: ServerLimits;
  /** False: no search, and no index to keep up. */
  readonly search?: boolean;
  /** Fill an empty store with a sample. */
  readonly demo: boolean;
  /** Answers MCP clients. Default: there is nothing at /mcp. */
  readonly mcp?: McpService;
  readonly version: string;
  /** Opens the store. Default: this process must own it. */
  readonly open?: (place: string) => Promise<Opened>;
  readonly log: Log;
}
