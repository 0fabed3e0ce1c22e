import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Address } from '../parse-address.ts';
import { toBuffer } from '../../format/bytes.ts';

const KEEP_ALIVE_MS = 15_000;
/**
 * Bytes read at a time. Node would allocate new memory for every 64 KiB: with a page of 64 turns of 10 KB, collecting
 * that as garbage took longer than all the rest. This is room for a hundred answers. More of a page would only be
 * copied once more, because the bytes after its beginning are read to where they stay.
 */
const READ_BYTES = 16 * 1024;

export type SocketAddress = Exclude<Address, { kind: 'http' }>;

/** A connection that was begun; the code that takes it waits for it. */
export class Dialled {
  readonly socket: Socket;
  /** Handles the bytes that arrive. Their memory is reused when this function returns. */
  receive: (chunk: Buffer) => void = () => undefined;
  /** The memory to read the next bytes into instead, if there is any. */
  room: () => Buffer | undefined = () => undefined;

  /** `ca`: certificates to trust instead of the system's, as PEM. */
  constructor(address: SocketAddress, ca?: string) {
    const callback = (length: number, buffer: Uint8Array): boolean => {
      this.receive(toBuffer(buffer).subarray(0, length));
      return true;
    };
    const used = Buffer.allocUnsafeSlow(READ_BYTES);
    const onread = { buffer: () => this.room() ?? used, callback };
    if (address.kind === 'unix') this.socket = connectTcp({ path: address.path, onread });
    else if (address.kind === 'tcp') this.socket = connectTcp({ ...address, onread });
    else {
      this.socket = beginTls(address, ca);
      this.socket.on('data', (chunk: Buffer) => this.receive(chunk));
    }
    this.socket.setNoDelay(true);
    this.socket.setKeepAlive(true, KEEP_ALIVE_MS);
  }
}

export type Dial = () => Dialled;

export function dialTo(address: SocketAddress, ca?: string): Dial {
  return () => new Dialled(address, ca);
}

function beginTls({ host, port }: { host: string; port: number }, ca?: string): Socket {
  // A server name is sent only for addresses with names: RFC 6066 has no place for others.
  const isName = !/^[\d.]+$|:/.test(host);
  return connectTls({
    host,
    port,
    ...(isName && { servername: host }),
    ...(ca !== undefined && { ca }),
  });
}

/** Resolves when bytes may be sent: for TLS, once the server has proved its identity. */
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
