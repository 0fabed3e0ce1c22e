import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RemoteEngine } from '../../src/client/remote-engine.ts';
import { HttpTransport } from '../../src/client/http/http-transport.ts';
import { dialTo } from '../../src/client/socket/dial.ts';
import type { SocketAddress } from '../../src/client/socket/dial.ts';
import { SocketTransport } from '../../src/client/socket/socket-transport.ts';
import type { Transport } from '../../src/client/transport.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { ownerAccess } from '../../src/server/access/access.ts';
import type { Access } from '../../src/server/access/access.ts';
import { BinaryServer } from '../../src/server/binary/binary-server.ts';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { createHttpServer } from '../../src/server/http/create-http-server.ts';
import type { Served } from '../../src/server/calls/call-handler.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { StoreOptions } from '../../src/store/create-store.ts';

export type Way = 'unix' | 'tcp' | 'tls with a token' | 'http';

export const TEST_TOKEN = 'test-token';
const TIMEOUT_MS = 10_000;
const GRACE_MS = 100;
const pem = (name: string): string =>
  readFileSync(new URL(`./tls/${name}.pem`, import.meta.url), 'utf8');

/** Lets in who has the token, with every right: here it is about the way, and not about who may name what. */
export const tokenAccess: Access = {
  tokensNeeded: true,
  identify: async (token) =>
    token === TEST_TOKEN ? { name: 'tester', scope: 'admin', owner: true } : undefined,
};

/** A server over `engine` and the transport to it. Closing the transport closes both, and the engine. */
export async function serveEngine(
  engine: Engine,
  way: Way,
  options: StoreOptions = {},
): Promise<Transport> {
  return serveOpened({ engine, store: createStore(engine, options) }, way);
}

/** As `serveEngine`, for a store that is open. */
export async function serveOpened(served: Served, way: Way): Promise<Transport> {
  const { store } = served;
  const calls = createCalls(served);
  if (way === 'http') {
    const server = createHttpServer({ served, calls, access: ownerAccess });
    const { url } = await server.listen(0, '127.0.0.1');
    const transport = new HttpTransport(url, { timeoutMs: TIMEOUT_MS });
    return closing(transport, async () => {
      await server.close(GRACE_MS);
      await store.close();
    });
  }
  const server = new BinaryServer({ served, calls });
  const address = await listen(server, way);
  const token = way === 'tls with a token' ? TEST_TOKEN : undefined;
  const transport = new SocketTransport({
    dial: dialTo(address, address.kind === 'tls' ? pem('cert') : undefined),
    token,
    timeoutMs: TIMEOUT_MS,
  });
  return closing(transport, async () => {
    await server.close(GRACE_MS);
    await store.close();
    if (address.kind === 'unix') rmSync(join(address.path, '..'), { recursive: true, force: true });
  });
}

export async function connectTo(
  engine: Engine,
  way: Way,
  options: StoreOptions = {},
): Promise<RemoteEngine> {
  const transport = await serveEngine(engine, way, options);
  return new RemoteEngine(transport, { timeoutMs: TIMEOUT_MS });
}

async function listen(server: BinaryServer, way: Exclude<Way, 'http'>): Promise<SocketAddress> {
  if (way === 'unix') {
    const path = join(mkdtempSync(join(tmpdir(), 'quipu-')), 'quipu.sock');
    await server.listen({ path }, ownerAccess);
    return { kind: 'unix', path };
  }
  const at = { host: '127.0.0.1', port: 0 };
  if (way === 'tcp') {
    const { port = 0 } = await server.listen(at, ownerAccess);
    return { kind: 'tcp', host: '127.0.0.1', port };
  }
  const tls = { cert: pem('cert'), key: pem('key') };
  const { port = 0 } = await server.listen({ ...at, tls }, tokenAccess);
  return { kind: 'tls', host: 'localhost', port };
}

/** The transport, whose end takes the server with it. */
function closing(transport: Transport, closeServer: () => Promise<void>): Transport {
  let closed: Promise<void> | undefined;
  return {
    call: (...args) => transport.call(...args),
    stream: (...args) => transport.stream(...args),
    upload: (...args) => transport.upload(...args),
    close: () => {
      closed ??= transport.close().then(closeServer);
      return closed;
    },
  };
}
