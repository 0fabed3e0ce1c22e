import type { Socket } from 'node:net';

const KEEP_ALIVE_MS = 60_000;

/**
 * Makes small frames leave at once, and detects a peer that has vanished. Cuts off a peer that should move and does not
 * for `stallMs`. A peer that is only idle may stay so for hours.
 */
export function tuneSocket(socket: Socket, stallMs: number, shouldMove: () => boolean): void {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  socket.setTimeout(stallMs, () => {
    if (shouldMove() || socket.writableLength > 0) socket.destroy();
  });
  // A peer that goes away is not a failure of the server. `close` follows.
  socket.on('error', () => undefined);
}
