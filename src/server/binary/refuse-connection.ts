import type { Socket } from 'node:net';
import { QuipuError } from '../../base/errors.ts';
import { encodeError } from '../../wire/error-message.ts';
import { FrameReader } from '../../wire/frame-reader.ts';
import { encodeFrame } from '../../wire/frame.ts';
import { MessageType } from '../../wire/message-type.ts';
import { toWireError } from '../request/wire-error.ts';

/** Tells the peer, in reply to its first message, that the server has no place for it, and closes the connection. */
export function refuseConnection(socket: Socket, limit: number, discardMs: number): void {
  const reader = new FrameReader(0);
  let isTold = false;
  const timer = setTimeout(() => socket.destroy(), discardMs).unref();
  socket.on('close', () => clearTimeout(timer));
  // The peer may go first; `close` follows.
  socket.on('error', () => undefined);
  socket.on('end', () => socket.end());
  socket.on('data', (chunk: Buffer) => {
    if (isTold) return;
    reader.push(chunk);
    const first = reader.next();
    if (first === undefined) return;
    isTold = true;
    const message = `the server has its ${limit} connections; try again later`;
    const error = new QuipuError('UNAVAILABLE', message, { what: 'server' });
    const parts = encodeError(toWireError(error, false));
    socket.end(encodeFrame(MessageType.ERROR, 0, first.reqId, ...parts));
  });
}
