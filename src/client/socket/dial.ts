import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

const KEEP_ALIVE_MS = 15_000;

export type SocketAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | {
      readonly kind: 'tls';
      readonly host: string;
      readonly port: number;
      /** Certificates to trust instead of the system's, as PEM. */
      readonly ca: string | undefined;
    }
  | { readonly kind: 'unix'; readonly path: string };

/** Begins a connection; the caller waits for it. */
export type Dial = () => Socket;

export function dialTo(address: SocketAddress): Dial {
  return () => {
    const socket = begin(address);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  };
}

function begin(address: SocketAddress): Socket {
  switch (address.kind) {
    case 'tcp':
      return connectTcp({ host: address.host, port: address.port });
    case 'tls': {
      const { host, port, ca } = address;
      // A name is sent for addresses with names only: RFC 6066 has no place for others.
      const isName = !/^[\d.]+$|:/.test(host);
      return connectTls({
        host,
        port,
        ...(isName && { servername: host }),
        ...(ca !== undefined && { ca }),
      });
    }
    case 'unix':
      return connectTcp({ path: address.path });
  }
}

/** Resolves when bytes may be sent: for TLS, once the server has shown who it is. */
export async function connected(socket: Socket, timeoutMs: number): Promise<void> {
  const event = 'encrypted' in socket ? 'secureConnect' : 'connect';
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`no connection within ${timeoutMs} ms`));
    }, timeoutMs);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection ended at once')));
    socket.once(event, () => {
      clearTimeout(timer);
      resolve();
    });
    socket.once('close', () => clearTimeout(timer));
  });
}
