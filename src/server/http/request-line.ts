import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HEADER_BYTES_MAX } from './http-limits.ts';

// Node hands over every request that it finds in the bytes read from a socket, up to thousands at once.
// Invariants
// - The server works on one request of a connection at a time. The next begins when the answer before it has left.
// - A connection holds a few heads of requests at most. A connection that sends more without waiting is cut off.
// - Waiting requests are dropped with the connection.

/** Requests of a connection that wait for the answer to another. */
const WAITING_MAX = 16;

type Waiting = readonly [incoming: IncomingMessage, outgoing: ServerResponse];

export function inLine(run: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Waiting[]>();
  const begin = (line: Waiting[], [incoming, outgoing]: Waiting): void => {
    outgoing.once('close', () => {
      const next = line.shift();
      if (incoming.socket.destroyed) line.length = 0;
      else if (next === undefined) lines.delete(incoming.socket);
      else begin(line, next);
    });
    run(incoming, outgoing);
  };
  return (incoming, outgoing) => {
    const { socket } = incoming;
    const line = lines.get(socket);
    const one: Waiting = [incoming, outgoing];
    if (line === undefined) {
      const first: Waiting[] = [];
      lines.set(socket, first);
      begin(first, one);
    } else if (line.length < WAITING_MAX && headBytes([...line, one]) <= HEADER_BYTES_MAX) {
      line.push(one);
    } else socket.destroy();
  };
}

function headBytes(line: readonly Waiting[]): number {
  let bytes = 0;
  for (const [{ url = '', rawHeaders }] of line) {
    bytes += url.length;
    for (const text of rawHeaders) bytes += text.length;
  }
  return bytes;
}
