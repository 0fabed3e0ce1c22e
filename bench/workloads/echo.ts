import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { ChildServer } from '../drivers/child-server.ts';
import { percentile, timeEach } from '../figures.ts';
import type { Result, Trial } from './workload.ts';

const PROGRAM = fileURLToPath(new URL('../echo.js', import.meta.url));
/** What APPEND_TURN has beside its payload, and ROW_ACK with its header. */
const AROUND_BYTES = 120;
const ANSWER_BYTES = 114;

/** `size` requests of an append's bytes, one after the other, to a server that answers and does nothing else. */
export async function echo({ size, payloadBytes }: Trial): Promise<Result> {
  const request = Buffer.alloc(payloadBytes + AROUND_BYTES);
  const server = await ChildServer.start(PROGRAM, [String(request.length), String(ANSWER_BYTES)]);
  const socket = connect({ port: Number(server.told), host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  const ask = asking(socket, request);
  await timeEach(size * 2, ask);
  const taken = await timeEach(size, ask);
  socket.destroy();
  await server.stop();
  return { p50Ms: percentile(taken, 0.5) };
}

function asking(socket: Socket, request: Uint8Array): () => Promise<void> {
  let left = 0;
  let answered = (): void => undefined;
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left === 0) answered();
  });
  return () =>
    new Promise((resolve) => {
      left = ANSWER_BYTES;
      answered = resolve;
      socket.write(request);
    });
}
