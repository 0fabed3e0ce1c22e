import { openStore } from '../../src/index.ts';
import type { Store } from '../../src/index.ts';
import type { Appender } from './driver.ts';
import { ServerProcess } from './server-process.ts';
import { StoreHistory } from './store-history.ts';

/** The library's client, and behind it a server in another process. */
export class Served extends StoreHistory {
  readonly #server: ServerProcess;

  private constructor(server: ServerProcess, store: Store) {
    super(store);
    this.#server = server;
  }

  /** Over TCP everything goes through one connection. */
  static async open(folder: string, way: 'tcp' | 'http'): Promise<Served> {
    const server = await ServerProcess.start(folder);
    return new Served(server, await openStore(server.addresses[way]));
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#server.stop();
  }
}

/** As `Served` over TCP, with a client and so a connection for each thread. */
export class ServedEach implements Appender {
  readonly #server: ServerProcess;
  readonly #clients = new Map<number, StoreHistory>();

  private constructor(server: ServerProcess) {
    this.#server = server;
  }

  static async open(folder: string): Promise<ServedEach> {
    return new ServedEach(await ServerProcess.start(folder));
  }

  async create(): Promise<number> {
    const client = new StoreHistory(await openStore(this.#server.addresses.tcp));
    const thread = await client.create();
    this.#clients.set(thread, client);
    return thread;
  }

  async append(thread: number, payload: Uint8Array): Promise<void> {
    const client = this.#clients.get(thread);
    if (client === undefined) throw new RangeError(`there is no thread ${thread}`);
    await client.append(thread, payload);
  }

  async close(): Promise<void> {
    for (const client of this.#clients.values()) await client.close();
    await this.#server.stop();
  }
}
