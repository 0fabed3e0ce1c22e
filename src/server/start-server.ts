import { closeAll } from '../engine/files/disk/file-handles.ts';
import type { Served } from './calls/call-handler.ts';
import { chooseAccess, isLoopback } from './choose-access.ts';
import { fillDemo, writeSlowly } from './demo.ts';
import type { Demo } from './demo.ts';
import { bothHooks, logHooks } from './log/log.ts';
import type { Log } from './log/log.ts';
import { openServed } from './open-served.ts';
import type { ServerOptions, TlsFiles } from './server-options.ts';
import { given } from '../base/given.ts';
import { invalid, locked } from '../base/errors.ts';
import { ownerAccess } from './access/access.ts';
import type { Access } from './access/access.ts';
import { BinaryServer } from './binary/binary-server.ts';
import type { Listening } from './binary/binary-server.ts';
import { createCalls } from './calls/create-calls.ts';
import { createHttpServer } from './http/create-http-server.ts';
import type { HttpServerOptions } from './http/create-http-server.ts';
import { bindSocket } from './local/listen.ts';
import { ByteBudget } from './memory/byte-budget.ts';
import { createMetrics } from './metrics/create-metrics.ts';
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';

// One process that serves one store: it opens the store, access control and the listeners, and closes them.
// Invariants
// - Nothing listens before everything that can be refused has been checked.
// - Everything that was opened is closed again in reverse order, whether starting failed or the server is done.
// - The store is closed last, after the listeners have answered the requests they had read: an acknowledgement that was
//   sent is durable, and an append that was read gets its answer.

export interface RunningServer {
  readonly store: string;
  readonly http: string;
  readonly tcp: string;
  /** The address for clients of cxdb, if there is one. */
  readonly cxdb?: string;
  /** The access in words. */
  readonly access: string;
  readonly tokensNeeded: boolean;
  /** Finishes the requests that were read, and after `graceMs` cuts off every client that is left. Idempotent. */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 10_000;

type Close = (graceMs: number) => Promise<void> | void;

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log } = options;
  const closes: Close[] = [];
  const closeAllOf = (graceMs: number): Promise<void> =>
    closeAll(closes.toReversed().map((close) => async () => await close(graceMs)));
  try {
    // Check everything that can be refused before anything is made.
    const tls = options.tls && (await readTls(options.tls, log, Date.now()));
    const chosen = await chooseAccess(options);
    const { access } = chosen;
    closes.push(() => chosen.close());

    // Open the store.
    const opened = await (options.open ?? openServed)(options.store, options.search);
    const { name, folder, ...served } = opened;
    closes.push(() => served.store.close());
    const demo = options.demo ? await fillDemo(served.store) : undefined;

    // Listen. Each address is as a client writes it.
    const servers = createServers(options, { served, access, tls }, name);
    closes.push(servers.close);
    if (folder !== undefined) await listenLocally(servers.binary, folder, log);
    const { host, tcpPort, httpPort, cxdbPort = 0 } = options;
    const listen = <T>(option: string, port: number, open: () => Promise<T>): Promise<T> =>
      open().catch((error: unknown) => Promise.reject(toListenError(error, host, port, option)));
    const { address } = await listen('--tcp-port', tcpPort, () =>
      servers.binary.listen({ host, port: tcpPort, ...given({ tls }) }, access),
    );
    const tcp = `${tls === undefined ? 'quipu' : 'quipus'}://${address}`;
    const http = await listen('--port', httpPort, () => servers.http.listen(httpPort, host));
    const cxdb = await listen('--cxdb-port', cxdbPort, async () =>
      servers.cxdb?.listen(cxdbPort, host),
    );
    if (demo !== undefined) closes.push(startWriting(served, demo, log));

    log.debug({ store: name, http: http.url, tcp }, 'listening');
    let closing: Promise<void> | undefined;
    return {
      store: name,
      http: http.url,
      tcp,
      ...given({ cxdb: cxdb?.url }),
      access: chosen.told,
      tokensNeeded: access.tokensNeeded,
      close(graceMs = GRACE_MS) {
        closing ??= closeAllOf(graceMs);
        return closing;
      },
    };
  } catch (error) {
    // The first error is the one to report.
    await closeAllOf(0).catch(() => undefined);
    throw error;
  }
}

/** The sample continues by itself for a minute, so that there is something to watch. */
function startWriting({ store }: Served, { live }: Demo, log: Log): Close {
  const end = new AbortController();
  const writing = writeSlowly(store, live, { signal: end.signal }).catch((err: unknown) => {
    log.warn({ err }, 'the sample could not be written on');
  });
  return () => {
    end.abort();
    return writing;
  };
}

interface Behind {
  readonly served: Served;
  readonly access: Access;
  readonly tls: Tls | undefined;
}

/** `cxdb` is undefined when nobody asked for it. `close` closes all at once, so that they share one grace period. */
function createServers(options: ServerOptions, { served, access, tls }: Behind, name: string) {
  const { host, cxdbPort, limits, log, version, origins, mcp } = options;
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
    ...given({ tls }),
    // On other addresses nobody knows which names the machine has.
    loopbackHostsOnly: isLoopback(host) && !access.tokensNeeded,
    limits,
  };
  const http = createHttpServer({ ...ofHttp, ...given({ mcp }) });
  const cxdb = cxdbPort === undefined ? undefined : createHttpServer({ ...ofHttp, words: 'cxdb' });
  const binary = new BinaryServer({
    served,
    calls,
    budget,
    hooks: bothHooks(metrics.binaryHooks, logHooks(log)),
    limits,
  });
  const close = async (graceMs: number): Promise<void> => {
    await Promise.all([binary.close(graceMs), http.close(graceMs), cxdb?.close(graceMs)]);
    metrics.close();
  };
  return { binary, http, cxdb, close };
}

/** For the other processes of this user, which find the socket by the folder. */
async function listenLocally(binary: BinaryServer, folder: string, log: Log): Promise<void> {
  // A process that can reach the socket can read the files, too.
  const listen = (path: string): Promise<Listening> => binary.listen({ path }, ownerAccess);
  const isBound = await bindSocket(folder, 'safe', listen);
  if (!isBound) log.warn({}, 'other processes must use an address: no socket here');
}

/** The reason why a listener could not be opened, with the option to change. */
function toListenError(error: unknown, host: string, port: number, option: string): Error {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return locked(
      'port',
      'another program',
      `port ${port} on ${host} is in use by another program; stop that one, or choose a port with ${option}`,
    );
  }
  if (code === 'EACCES') {
    return invalid(
      option,
      `${port} needs rights that this user does not have; choose a port above 1023`,
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return invalid('--host', `${host} is not an address of this machine (${code})`);
  }
  return error as Error;
}

/** The certificate and the key as PEM texts. */
interface Tls {
  readonly cert: string;
  readonly key: string;
}

/**
 * Throws INVALID, with the file, if no handshake could succeed. A certificate that is expired or not yet valid is only
 * logged.
 */
async function readTls(files: TlsFiles, log: Log, nowMs: number): Promise<Tls> {
  const cert = await readText('--tls-cert', files.certFile);
  const key = await readText('--tls-key', files.keyFile);
  const parsed = parseCertificate(cert, files.certFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const reason = (error as Error).message;
    throw invalid('--tls-key', `${files.keyFile} does not fit the certificate: ${reason}`);
  }
  const { validFrom, validTo } = parsed;
  if (Date.parse(validFrom) > nowMs || Date.parse(validTo) < nowMs) {
    log.warn({ validFrom, validTo }, 'the certificate is out of its time: clients will refuse it');
  }
  return { cert, key };
}

async function readText(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw invalid(option, `cannot be read: ${path} (${code})`);
  }
}

function parseCertificate(pem: string, path: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    const reason = (error as Error).message;
    throw invalid('--tls-cert', `${path} is not a certificate in PEM form: ${reason}`);
  }
}
