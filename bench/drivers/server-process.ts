import { fileURLToPath } from 'node:url';
import { ChildServer } from './child-server.ts';

const PROGRAM = fileURLToPath(new URL('../serve.js', import.meta.url));

interface Addresses {
  readonly tcp: string;
  readonly http: string;
}

/** A server of one folder in a process of its own, at ports of its own. It syncs what it acknowledges. */
export class ServerProcess {
  readonly addresses: Addresses;
  readonly #server: ChildServer;

  private constructor(server: ChildServer) {
    this.addresses = JSON.parse(server.told) as Addresses;
    this.#server = server;
  }

  static async start(folder: string): Promise<ServerProcess> {
    return new ServerProcess(await ChildServer.start(PROGRAM, [folder]));
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }
}
