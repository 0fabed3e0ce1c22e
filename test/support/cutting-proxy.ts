import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** What becomes of one connection through the proxy; Infinity for no limit. */
export interface Cut {
  /** Bytes from the client that are passed on before both sides are cut off. */
  readonly requestBytes: number;
  /** Bytes from the server that are passed on before that. */
  readonly replyBytes: number;
}

const NO_CUT: Cut = { requestBytes: Infinity, replyBytes: Infinity };

/** Passes bytes on between clients and a server, and drops connections when told to. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** For the connections to come, one each; those after the last are left alone. */
  readonly cuts: Cut[] = [];
  /** Bytes that went each way over the connection that came last. */
  passed: { request: number; reply: number } = { request: 0, reply: 0 };
  /** Nothing is passed on while this is set, and nothing is cut off. */
  frozen = false;
  targetPort: number;

  static async start(targetPort: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(targetPort);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  private constructor(targetPort: number) {
    this.targetPort = targetPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Cuts every connection off that is open now. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cutAll();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #accept(client: Socket): void {
    const cut = this.cuts.shift() ?? NO_CUT;
    const passed = { request: 0, reply: 0 };
    this.passed = passed;
    const server = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true });
    client.setNoDelay(true);
    const destroy = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', destroy);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        destroy();
      });
    }
    const pass = (to: Socket, way: 'request' | 'reply', most: number) => (chunk: Buffer) => {
      if (this.frozen) return;
      const room = most - passed[way];
      passed[way] += chunk.length;
      to.write(chunk.subarray(0, Math.max(0, Math.min(room, chunk.length))), () => {
        if (chunk.length >= room) destroy();
      });
    };
    client.on('data', pass(server, 'request', cut.requestBytes));
    server.on('data', pass(client, 'reply', cut.replyBytes));
  }
}
