import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** What becomes of bytes on their way: these are passed on, and then both sides may be cut off. */
export interface Passed {
  readonly bytes: Uint8Array;
  readonly cut: boolean;
}

/** Stands in the way of one connection. */
export interface Tampering {
  request(bytes: Buffer): Passed;
  reply(bytes: Buffer): Passed;
}

/** Passes bytes on between clients and a server of this machine, as one who tampers with them lets it. */
export abstract class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  targetPort: number;

  constructor(targetPort: number) {
    this.targetPort = targetPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** For the connection that comes now. */
  protected abstract tamper(): Tampering;

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return this;
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
    const tampering = this.tamper();
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
    const pass = (to: Socket, { bytes, cut }: Passed): void => {
      to.write(bytes, () => {
        if (cut) destroy();
      });
    };
    client.on('data', (bytes: Buffer) => pass(server, tampering.request(bytes)));
    server.on('data', (bytes: Buffer) => pass(client, tampering.reply(bytes)));
  }
}
