import type { Socket } from 'node:net';

const KEEP_ALIVE_MS = 60_000;

/**
 * Small frames leave at once, and a peer that vanished is found out. One that is there and does not move for
 * `stallMs` although it should is cut off; one that is only idle may be so for hours.
 */
export function tuneSocket(socket: Socket, stallMs: number, shouldMove: () => boolean): void {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  socket.setTimeout(stallMs, () => {
    if (shouldMove() || socket.writableLength > 0) socket.destroy();
  });
  // A peer that goes away is no failure of the server. `close` follows.
  socket.on('error', () => undefined);
}
