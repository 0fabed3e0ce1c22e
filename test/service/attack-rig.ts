import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { RemoteEngine } from '../../src/client/remote-engine.ts';
import { HttpTransport } from '../../src/client/http/http-transport.ts';
import { dialTo } from '../../src/client/socket/dial.ts';
import { SocketTransport } from '../../src/client/socket/socket-transport.ts';
import { storeOver } from '../../src/connect-store.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Access, Identity } from '../../src/server/access/access.ts';
import { BinaryServer } from '../../src/server/binary/binary-server.ts';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { createHttpServer } from '../../src/server/http/create-http-server.ts';
import { openServed } from '../../src/server/open-served.ts';
import type { Served } from '../../src/server/calls/call-handler.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

// A store that is served, a folder beside it that is none of its business, and clients that mean harm.

export const WAYS = ['tcp', 'http'] as const;
export type Way = (typeof WAYS)[number];

export type TokenName = 'read' | 'write' | 'admin';

export interface AttackRig {
  /** The store of the server itself, for what its owner does. */
  readonly served: Served;
  readonly folder: string;
  /** Files of somebody else, each of which says SECRET. */
  readonly outside: string;
  /** A client with the token of this name. */
  readonly client: (way: Way, token?: TokenName) => { engine: RemoteEngine; store: Store };
  readonly fetch: (
    method: string,
    path: string,
    body?: unknown,
    token?: TokenName,
  ) => Promise<Response>;
}

export interface AttackOptions {
  /** Makes the identity of a token another one, as a careless server would. */
  readonly careless?: (identity: Identity) => Identity;
  /** False: sessions may be anywhere, as for the owner of the store. */
  readonly confined?: boolean;
}

const TIMEOUT_MS = 10_000;

export async function serveForAttack({
  careless,
  confined = true,
}: AttackOptions = {}): Promise<AttackRig> {
  const base = freshFolder('quipu-attack-');
  const outside = join(base, 'outside');
  mkdirSync(join(outside, 'notes'), { recursive: true });
  writeFileSync(join(outside, 'notes.jsonl'), '"SECRET"\n');
  writeFileSync(join(outside, 'notes/0-Plan.md'), 'SECRET');
  writeFileSync(join(outside, 'notes/0.bash.log'), 'SECRET');
  const folder = join(base, 'store');
  const served = confined ? await openServed(folder) : await openUnconfined(folder);
  const { store } = served;
  const access: Access = {
    tokensNeeded: true,
    identify: async (token) => {
      if (token === undefined) return undefined;
      const identity: Identity = { name: token, scope: token as TokenName };
      return careless === undefined ? identity : careless(identity);
    },
  };
  const calls = createCalls(served);
  const binary = new BinaryServer({ served, calls });
  const { port = 0 } = await binary.listen({ host: '127.0.0.1', port: 0 }, access);
  const http = createHttpServer({ served, calls, access });
  const { url } = await http.listen(0, '127.0.0.1');
  onTestFinished(async () => {
    await Promise.all([binary.close(0), http.close(0)]);
    await store.close();
  });
  return {
    served,
    folder,
    outside,
    client(way, token = 'write') {
      const timeoutMs = TIMEOUT_MS;
      const dial = dialTo({ kind: 'tcp', host: '127.0.0.1', port });
      const transport =
        way === 'http'
          ? new HttpTransport(url, { timeoutMs, token })
          : new SocketTransport({ dial, token, timeoutMs });
      const remote = new RemoteEngine(transport, { timeoutMs });
      onTestFinished(() => remote.close());
      return { engine: remote, store: storeOver(remote) };
    },
    fetch: (method, path, body, token = 'write') =>
      fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  };
}

async function openUnconfined(folder: string): Promise<Served> {
  const engine = await openFilesEngine(folder, { shares: true });
  return { engine, store: createStore(engine, { folder }) };
}
