import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { openAccess } from '../../src/server/access/access.ts';
import { BinaryServer } from '../../src/server/binary/binary-server.ts';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';

/** A server over a folder that can go away and come back, each time on another port. */
export class RestartableServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'quipu-restart-'));
  #server: BinaryServer | undefined;
  #store: Store | undefined;
  port = 0;

  static async start(): Promise<RestartableServer> {
    const server = new RestartableServer();
    await server.start();
    return server;
  }

  /** The store itself, beside all clients. */
  get store(): Store {
    if (this.#store === undefined) throw new TypeError('the server is not running');
    return this.#store;
  }

  async start(): Promise<void> {
    const engine = await openFilesEngine(this.#folder);
    const store = createStore(engine);
    const served = { engine, store };
    this.#store = store;
    this.#server = new BinaryServer({ served, calls: createCalls(served) });
    const { port = 0 } = await this.#server.listen({ host: '127.0.0.1', port: 0 }, openAccess);
    this.port = port;
  }

  async stop(): Promise<void> {
    await this.#server?.close(1000);
    await this.#store?.close();
    this.#server = undefined;
    this.#store = undefined;
  }

  async dispose(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
