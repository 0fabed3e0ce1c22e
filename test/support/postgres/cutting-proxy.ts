import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Which half of a COMMIT gets lost with the connection: it never arrives, or its answer does not. */
export type Cut = 'request' | 'answer';

/** Stands between a client and the server, and cuts the connection at the next COMMIT when told to. */
export class CuttingProxy {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket> = new Set();
  #cuts: Cut[] = [];

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async start(to: string): Promise<CuttingProxy> {
    const { hostname, port } = new URL(to);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(to);
    url.port = String((server.address() as AddressInfo).port);
    const proxy = new CuttingProxy(server, url.href);
    server.on('connection', (client) => proxy.#join(client, connect(Number(port), hostname)));
    return proxy;
  }

  /** The next connections that commit are cut, one after the other. */
  cut(...cuts: readonly Cut[]): void {
    this.#cuts.push(...cuts);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket, server: Socket): void {
    let silent = false;
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', end);
      socket.on('close', end);
    }
    client.on('data', (bytes) => {
      const cut = bytes.includes('COMMIT\0') ? this.#cuts.shift() : undefined;
      if (cut === 'request') return end();
      silent = cut === 'answer';
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (silent) end();
      else client.write(bytes);
    });
  }
}
