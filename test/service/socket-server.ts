import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { openAccess } from '../../src/server/access/access.ts';
import type { Access } from '../../src/server/access/access.ts';
import { BinaryServer } from '../../src/server/binary/binary-server.ts';
import type { BinaryServerOptions } from '../../src/server/binary/binary-server.ts';
import type { CallTable, Served } from '../../src/server/calls/call-handler.ts';
import { createStore } from '../../src/store/create-store.ts';

export interface SocketServer extends AsyncDisposable {
  readonly port: number;
  readonly served: Served;
  readonly server: BinaryServer;
  close(graceMs: number): Promise<void>;
}

export interface SocketServerOptions extends Omit<Partial<BinaryServerOptions>, 'served'> {
  readonly access?: Access;
  readonly durability?: 'safe' | 'unsafe';
  readonly clock?: () => number;
}

/** A server on a free port over a new store, both gone with the scope. */
export async function startSocketServer(options: SocketServerOptions = {}): Promise<SocketServer> {
  const { access = openAccess, durability = 'unsafe', clock, ...rest } = options;
  const folder = await mkdtemp(join(tmpdir(), 'quipu-socket-'));
  const engine = await openFilesEngine(folder, { durability, ...(clock && { clock }) });
  const served = { engine, store: createStore(engine) };
  const calls: CallTable = new Map();
  const server = new BinaryServer({ calls, ...rest, served });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 }, access);
  const close = async (graceMs: number): Promise<void> => {
    await server.close(graceMs);
    await served.store.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { port: port!, served, server, close, [Symbol.asyncDispose]: () => close(1000) };
}
