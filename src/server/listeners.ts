import { given } from '../base/given.ts';
import { invalid, locked } from '../base/errors.ts';
import { ownerAccess } from './access/access.ts';
import type { Access } from './access/access.ts';
import { BinaryServer } from './binary/binary-server.ts';
import type { Listening } from './binary/binary-server.ts';
import { createCalls } from './calls/create-calls.ts';
import type { Served } from './calls/call-handler.ts';
import { createHttpServer } from './http/create-http-server.ts';
import type { HttpServer, HttpServerOptions } from './http/create-http-server.ts';
import { bindSocket } from './local/bind-socket.ts';
import { bothHooks, logHooks } from './log/log-hooks.ts';
import { isLoopback } from './choose-access.ts';
import { ByteBudget } from './memory/byte-budget.ts';
import { createMetrics } from './metrics/create-metrics.ts';
import type { Tls } from './read-tls.ts';
import type { ServerOptions } from './server-options.ts';

export interface Behind {
  readonly served: Served;
  readonly access: Access;
  readonly tls: Tls | undefined;
  /** The name of the store that people see. */
  readonly name: string;
}

/** The listeners of one store. Each `listen` returns its address as a client writes it. */
export interface Listeners {
  /** For the other processes of this user, which find the socket by the folder. */
  listenLocally(folder: string): Promise<void>;
  listenTcp(): Promise<string>;
  listenHttp(): Promise<string>;
  /** For clients of cxdb. Undefined when nobody asked for it. */
  listenCxdb(): Promise<string | undefined>;
  /** Closes all listeners at once, so that they share one grace period. */
  close(graceMs: number): Promise<void>;
}

export function createListeners(options: ServerOptions, behind: Behind): Listeners {
  const { host, httpPort, tcpPort, cxdbPort, limits, log, version, origins } = options;
  const { served, access, tls, name } = behind;
  const { connections, bodyBytes, pendingBytes, answerMs, stallMs, idleMs } = limits;
  const calls = createCalls(served);
  const budget = new ByteBudget();
  const metrics = createMetrics({ served, ofProcess: true });
  const ofHttp: HttpServerOptions = {
    served,
    calls,
    budget,
    access,
    log,
    metrics,
    version,
    storeName: name,
    origins,
    ...(tls !== undefined && { tls }),
    // On other addresses nobody knows which names the machine has.
    loopbackHostsOnly: isLoopback(host) && !access.tokensNeeded,
    limits: given({ connections, stallMs, bodyBytes, keepAliveMs: idleMs }),
  };
  const http = createHttpServer({
    ...ofHttp,
    ...(options.mcp !== undefined && { mcp: options.mcp }),
  });
  const cxdb = cxdbPort === undefined ? undefined : createHttpServer({ ...ofHttp, words: 'cxdb' });
  const binary = new BinaryServer({
    served,
    calls,
    budget,
    hooks: bothHooks(metrics.binaryHooks, logHooks(log)),
    limits: given({ connections, stallMs, pipelinedBytes: pendingBytes, answerMs }),
  });
  return {
    async listenLocally(folder) {
      // A process that can reach the socket can read the files, too.
      const listen = (path: string): Promise<Listening> => binary.listen({ path }, ownerAccess);
      const isBound = await bindSocket(folder, 'safe', listen);
      if (!isBound) log.warn({}, 'other processes must use an address: no socket here');
    },
    async listenTcp() {
      const at = { host, port: tcpPort, ...(tls !== undefined && { tls }) };
      const listen = (): Promise<Listening> => binary.listen(at, access);
      const { address } = await inOptionWords('--tcp-port', at, listen);
      return `${tls === undefined ? 'quipu' : 'quipus'}://${address}`;
    },
    listenHttp: () => listenAt(http, '--port', { host, port: httpPort }),
    listenCxdb: async () => cxdb && listenAt(cxdb, '--cxdb-port', { host, port: cxdbPort ?? 0 }),
    async close(graceMs) {
      await Promise.all([binary.close(graceMs), http.close(graceMs), cxdb?.close(graceMs)]);
      metrics.close();
    },
  };
}

async function listenAt(http: HttpServer, portOption: string, at: Address): Promise<string> {
  return (await inOptionWords(portOption, at, () => http.listen(at.port, at.host))).url;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

async function inOptionWords<T>(
  portOption: string,
  { host, port }: Address,
  listen: () => Promise<T>,
): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    throw toListenError(error, { host, port, hostOption: '--host', portOption });
  }
}

interface Wanted extends Address {
  /** The options that name the address. */
  readonly hostOption: string;
  readonly portOption: string;
}

/** The reason why a listener could not be opened, with the option to change. */
function toListenError(error: unknown, wanted: Wanted): Error {
  const { host, port, hostOption, portOption } = wanted;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return locked(
      'port',
      'another program',
      `port ${port} on ${host} is in use by another program; stop that one, or choose a port with ${portOption}`,
    );
  }
  if (code === 'EACCES') {
    return invalid(
      portOption,
      `${port} needs rights that this user does not have; choose a port above 1023`,
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return invalid(hostOption, `${host} is not an address of this machine (${code})`);
  }
  return error as Error;
}
