import { setMaxListeners } from 'node:events';
import { createServer as createPlain } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createTls } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { invalid } from '../../base/errors.ts';
import { Streams } from '../../stream/streams.ts';
import type { Log } from '../log/log.ts';
import { SignIn } from '../access/token-access.ts';
import { Families } from '../browse/branch-tree.ts';
import { RecentThreads } from '../browse/recent-threads.ts';
import { pageRoute } from '../page/page-route.ts';
import { StreamBells } from '../streams/stream-messages.ts';
import { ByteBudget } from '../memory/byte-budget.ts';
import { createMetrics } from '../metrics/create-metrics.ts';
import { AnswerRoom, Turns } from './exchange/answer-room.ts';
import { createApp } from './create-app.ts';
import type { GuardRules } from './create-app.ts';
import { addressOf, listenAt } from '../local/listen.ts';
import { errorReply, HEADER_BYTES_MAX, HTTP_LIMITS } from './exchange/route.ts';
import type { HttpLimits, HttpService } from './exchange/route.ts';
import { createCxdbRoutes, createRoutes } from './routes/create-routes.ts';
import { mcpRoutes } from './routes/mcp.ts';
import type { McpService } from './routes/mcp.ts';

/** The parts of the service that are given. Each part that is optional has a default of the server's own. */
export interface HttpServerOptions
  extends
    Pick<HttpService, 'served' | 'calls' | 'access'>,
    Partial<Pick<HttpService, 'budget' | 'log' | 'metrics' | 'version' | 'storeName'>>,
    Partial<GuardRules> {
  readonly limits?: Partial<HttpLimits>;
  /** The certificate and the key as PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Answers MCP clients at /mcp. Default: nobody does. */
  readonly mcp?: McpService;
  /** `cxdb`: every path answers as cxdb's server does, for clients that know a base address alone. Default: ours. */
  readonly words?: 'cxdb';
}

export interface HttpServer {
  listen(port: number, host: string): Promise<HttpAddress>;
  /** Ends streams, finishes requests, and cuts off the rest after `graceMs`. Idempotent. */
  close(graceMs?: number): Promise<void>;
}

export interface HttpAddress {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

const NOTHING = (): void => undefined;
const SILENT: Log = { debug: NOTHING, info: NOTHING, warn: NOTHING, error: NOTHING };
const NO_REQUEST = errorReply(
  invalid('path', 'is not a path of this server; /openapi.json lists them'),
);
const GRACE_MS_DEFAULT = 10_000;
const LOOK_MS = 1000;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { served, calls, access, tls, origins = [], log = SILENT, version = '0' } = options;
  const { storeName = '', metrics = createMetrics({ served }), mcp } = options;
  const { budget = new ByteBudget(), loopbackHostsOnly = !access.tokensNeeded } = options;
  const limits: HttpLimits = { ...HTTP_LIMITS, ...options.limits };
  const stopping = new AbortController();
  // Every request listens to this signal.
  setMaxListeners(Infinity, stopping.signal);
  const families = new Families(served.engine);
  const recent = new RecentThreads(served);
  const service: HttpService = {
    served,
    calls,
    access,
    signIn: new SignIn(),
    limits,
    budget,
    room: new AnswerRoom(budget, limits.answerBytes),
    turns: new Turns(),
    log,
    metrics,
    version,
    storeName,
    families,
    recent,
    streams: new Streams(served.engine),
    streamBells: new StreamBells(served.engine),
    stopping: stopping.signal,
  };
  const isCxdb = options.words === 'cxdb';
  const routes = isCxdb ? createCxdbRoutes() : [...createRoutes(), ...mcpRoutes(mcp), pageRoute()];
  const app = createApp(routes, service, { loopbackHostsOnly, origins, isCxdb });
  const listener = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // For input that is not a request: its path or host forms no address.
    errorHandler: () =>
      new Response(NO_REQUEST.body as string, { status: NO_REQUEST.status ?? 400 }),
  });
  const settings = {
    maxHeaderSize: HEADER_BYTES_MAX,
    // Node checks for late headers this often. Its own default is every 30 s.
    connectionsCheckingInterval: Math.min(limits.headersMs, LOOK_MS),
  };
  const take = inLine((incoming, outgoing) => void listener(incoming, outgoing));
  const server =
    tls === undefined
      ? createPlain(settings, take)
      : createTls({ ...settings, ...tls, handshakeTimeout: limits.headersMs }, take);
  applyLimits(server, limits);
  countConnections(server, metrics);
  let closing: Promise<void> | undefined;

  return {
    listen: (port, host) => listen(server, port, host, tls === undefined ? 'http' : 'https'),
    close(graceMs = GRACE_MS_DEFAULT): Promise<void> {
      stopping.abort();
      families.close();
      recent.close();
      closing ??= closeServer(server, graceMs);
      return closing;
    },
  };
}

function countConnections(server: Server, metrics: HttpService['metrics']): void {
  server.on('connection', (socket: Socket) => {
    metrics.connection('http', 1);
    socket.once('close', () => metrics.connection('http', -1));
  });
  const counted = new WeakMap<Socket, { in: number; out: number }>();
  server.on('request', ({ socket }, outgoing) => {
    outgoing.once('close', () => {
      const before = counted.get(socket) ?? { in: 0, out: 0 };
      metrics.bytes('http', 'in', socket.bytesRead - before.in);
      metrics.bytes('http', 'out', socket.bytesWritten - before.out);
      counted.set(socket, { in: socket.bytesRead, out: socket.bytesWritten });
    });
  });
}

function applyLimits(server: Server, limits: HttpLimits): void {
  server.maxConnections = limits.connections;
  server.headersTimeout = limits.headersMs;
  // A body may take any time as long as it keeps coming; the socket's own timer cuts off one that stalls.
  server.requestTimeout = 0;
  server.timeout = limits.stallMs;
  server.keepAliveTimeout = limits.keepAliveMs;
}

async function listen(
  server: Server,
  port: number,
  host: string,
  scheme: string,
): Promise<HttpAddress> {
  await listenAt(server, { host, port });
  const bound = server.address() as AddressInfo;
  return { host: bound.address, port: bound.port, url: `${scheme}://${addressOf(server)}` };
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return;
  const done = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  // A busy connection becomes idle without notice.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await done;
  clearInterval(sweep);
  clearTimeout(cut);
}

// Node hands over every request that it finds in the bytes read from a socket, up to thousands at once.
// Invariants
// - The server works on one request of a connection at a time. The next begins when the answer before it has left.
// - A connection holds a few heads of requests at most. A connection that sends more without waiting is cut off.
// - Waiting requests are dropped with the connection.

/** Requests of a connection that wait for the answer to another. */
const WAITING_MAX = 16;

type Waiting = readonly [incoming: IncomingMessage, outgoing: ServerResponse];

function inLine(run: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Waiting[]>();
  const begin = (line: Waiting[], [incoming, outgoing]: Waiting): void => {
    outgoing.once('close', () => {
      const next = line.shift();
      if (incoming.socket.destroyed) line.length = 0;
      else if (next === undefined) lines.delete(incoming.socket);
      else begin(line, next);
    });
    run(incoming, outgoing);
  };
  return (incoming, outgoing) => {
    const { socket } = incoming;
    const line = lines.get(socket);
    const one: Waiting = [incoming, outgoing];
    if (line === undefined) {
      const first: Waiting[] = [];
      lines.set(socket, first);
      begin(first, one);
    } else if (line.length < WAITING_MAX && headBytes([...line, one]) <= HEADER_BYTES_MAX) {
      line.push(one);
    } else socket.destroy();
  };
}

function headBytes(line: readonly Waiting[]): number {
  let bytes = 0;
  for (const [{ url = '', rawHeaders }] of line) {
    bytes += url.length;
    for (const text of rawHeaders) bytes += text.length;
  }
  return bytes;
}
