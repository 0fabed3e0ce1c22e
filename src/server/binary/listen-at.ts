import { chmodSync } from 'node:fs';
import { createServer as createNetServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** The address at which a server listens. */
export type ListenAt =
  | { readonly host: string; readonly port: number; readonly tls?: TlsIdentity }
  /** A Unix socket. The caller has made sure that nobody else listens there. */
  | { readonly path: string };

export interface TlsIdentity {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

const HANDSHAKE_MS = 10_000;
/** Connections that may wait to be accepted. */
const BACKLOG = 1024;

/** Creates a server whose connections go to `accept`. The server does not listen yet. */
export function createListener(at: ListenAt, accept: (socket: Socket) => void): Server {
  // The peer may send its last request and end its side before it has the reply.
  const options = { allowHalfOpen: true, noDelay: true };
  if ('path' in at || at.tls === undefined) return createNetServer(options, accept);
  const { cert, key } = at.tls;
  return createTlsServer({ ...options, cert, key, handshakeTimeout: HANDSHAKE_MS }, accept);
}

/** Resolves when the server accepts connections. */
export async function listenAt(server: Server, at: ListenAt): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
    // In a cluster the primary process would listen for its workers; but the socket belongs to the process that owns
    // the store.
    if ('path' in at) server.listen({ path: at.path, backlog: BACKLOG, exclusive: true });
    else server.listen({ host: at.host, port: at.port, backlog: BACKLOG });
  });
  if ('path' in at) chmodSync(at.path, 0o600);
}

export function addressOf(server: Server): string {
  const address = server.address();
  if (address === null) return '';
  if (typeof address === 'string') return address;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${host}:${address.port}`;
}
