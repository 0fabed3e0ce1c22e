import * as fs from 'node:fs';
import { writeOwnerNote } from '../../engine/files/disk/owner-note.ts';
import type { OwnerNote } from '../../engine/files/disk/owner-note.ts';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createServer as createNetServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

// The place where the owner of a folder listens for the other processes of the machine. The kernel takes short paths
// only, and some file systems take no sockets, so there is a second place in addition to the folder itself.

/**
 * Listens where others look for the owner of `folder`. False when there is no place for a socket; then the owner's note
 * tells the others. Only the holder of the folder's lock may call this: a socket that exists already belongs to an
 * owner that is gone.
 */
export async function bindSocket(
  folder: string,
  durability: OwnerNote['durability'] & string,
  listen: (path: string) => Promise<unknown>,
): Promise<boolean> {
  const usual = usualPlace(folder);
  if (usual !== undefined && (await listenAnew(usual, listen))) return true;
  const short = shortPlace(folder);
  // The note is written before the socket listens: a process that finds the socket must know what its owner promises.
  if (short !== undefined) writeOwnerNote(folder, { durability, shares: true, socket: short });
  const isBound = short !== undefined && (await listenAnew(short, listen));
  if (!isBound) writeOwnerNote(folder, { durability, shares: false });
  return isBound;
}

/** False when the system allows no socket there, for whatever reason. */
async function listenAnew(
  path: string,
  listen: (path: string) => Promise<unknown>,
): Promise<boolean> {
  try {
    fs.rmSync(path, { force: true });
    await listen(path);
    return true;
  } catch {
    return false;
  }
}

const SOCKET_FILE = 'quipu.sock';

/** The bytes that the address of a Unix socket has room for, without the zero at its end. */
const PATH_BYTES_MAX = process.platform === 'darwin' ? 103 : 107;

/** The usual place; undefined when its path is too long. */
function usualPlace(folder: string): string | undefined {
  return fits(join(folder, SOCKET_FILE));
}

/**
 * A short path in a folder that only this user can enter; undefined when there is none. The name belongs to this folder
 * alone and stays the same, so a new owner finds and replaces the socket of a killed owner.
 */
function shortPlace(folder: string): string | undefined {
  const { dev, ino } = fs.statSync(folder);
  const named = `${fs.realpathSync(folder)}\0${dev}\0${ino}`;
  const name = createHash('sha256').update(named).digest('hex').slice(0, 24);
  const home = runtimeFolder();
  return home === undefined ? undefined : fits(join(home, `${name}.sock`));
}

/** The place of the owner that left this note; undefined when no place can be trusted. */
export function placeOf(folder: string, note: OwnerNote | undefined): string | undefined {
  const socket = note?.socket;
  if (socket === undefined) return usualPlace(folder);
  return isPrivate(dirname(socket)) ? fits(socket) : undefined;
}

function fits(path: string): string | undefined {
  return Buffer.byteLength(path) <= PATH_BYTES_MAX ? path : undefined;
}

/** Makes the folder if it does not exist. Others can write to the folder for temporary files, so it may not be ours. */
function runtimeFolder(): string | undefined {
  const given = process.env['XDG_RUNTIME_DIR'];
  const path = given ? join(given, 'quipu') : join(tmpdir(), `quipu-${process.getuid?.() ?? 0}`);
  try {
    fs.mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch {
    // The path may still be missing, or be no folder; `isPrivate` checks that next.
  }
  return isPrivate(path) ? path : undefined;
}

function isPrivate(folder: string): boolean {
  const stat = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isDirectory()) return false;
  const isOurs = process.getuid === undefined || stat.uid === process.getuid();
  return isOurs && (stat.mode & 0o077) === 0;
}

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
  if ('path' in at) fs.chmodSync(at.path, 0o600);
}

export function addressOf(server: Server): string {
  const address = server.address();
  if (address === null) return '';
  if (typeof address === 'string') return address;
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${host}:${address.port}`;
}
