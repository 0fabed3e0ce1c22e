import type { Socket } from 'node:net';
import { lengthOf } from '../../wire/byte-writer.ts';
import {
  FRAME_HEADER_BYTES,
  encodeFrame,
  toFrame,
  toReqId,
  writeFrameHeader,
} from '../../wire/frame.ts';
import type { OutgoingMessage } from './outgoing-message.ts';

// The output side of a connection.
// Invariants
// - A frame is written whole and in the order of the calls; frames of one tick leave in one write, as long as they fit
//   the block.
// - The block is reused only when the socket waits for no byte in it: the kernel has a copy of all of it.

/**
 * Frames are put together here. An append of 10 KB in memory of its own made the client collect garbage twice as often.
 * An append sent from where its parts are needs a write of three pieces, which takes Node 4 µs longer than a write of
 * one. Once this many bytes wait they are sent at once, so that the server can begin.
 */
const BLOCK_BYTES = 64 * 1024;

/**
 * One block for all connections, because it is empty after each tick: 64 blocks did not stay in the processor's cache.
 */
const shared: { block: Buffer; user: Outbox | undefined } = {
  block: Buffer.allocUnsafeSlow(BLOCK_BYTES),
  user: undefined,
};

export type Sent = Pick<OutgoingMessage, 'type' | 'parts'> &
  Partial<Pick<OutgoingMessage, 'flags' | 'kept'>>;

export class Outbox {
  readonly #socket: Socket;
  /** The number of bytes of the block that hold our frames. */
  #fill = 0;
  readonly #flush = (): void => this.flush();

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Throws TOO_LARGE, and has then sent nothing. */
  add(id: number, { type, flags = 0, parts, kept = false }: Sent): void {
    const length = lengthOf(parts);
    if (FRAME_HEADER_BYTES + length > BLOCK_BYTES) {
      this.#addLarge(id, { type, flags, parts, kept });
      return;
    }
    this.#takeBlock(FRAME_HEADER_BYTES + length);
    let at = writeFrameHeader(shared.block, this.#fill, { length, type, flags, id });
    for (const part of parts) {
      shared.block.set(part, at);
      at += part.length;
    }
    this.#fill = at;
  }

  /** Hands the waiting bytes to the socket. */
  flush(): void {
    if (this.#fill === 0) return;
    const socket = this.#socket;
    const frames = shared.block.subarray(0, this.#fill);
    this.#fill = 0;
    shared.user = undefined;
    if (socket.destroyed) return;
    if (socket.writableLength > 0) {
      socket.write(Buffer.from(frames));
      return;
    }
    socket.write(frames);
    // The kernel did not take all bytes, so the block belongs to the socket until it does.
    if (socket.writableLength > 0) shared.block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  #takeBlock(length: number): void {
    if (shared.user !== this) shared.user?.flush();
    if (this.#fill + length > BLOCK_BYTES) this.flush();
    if (shared.user === this) return;
    shared.user = this;
    process.nextTick(this.#flush);
  }

  #addLarge(id: number, { type, flags, parts, kept }: Required<Sent>): void {
    const reqId = toReqId(BigInt(id));
    const chunks = kept
      ? toFrame({ type, flags, reqId }, parts).chunks
      : [encodeFrame(type, flags, reqId, ...parts)];
    this.flush();
    this.#socket.cork();
    for (const chunk of chunks) this.#socket.write(chunk);
    this.#socket.uncork();
  }
}
