import type { Socket } from 'node:net';
import { QuipuError, tooLarge } from '../../base/errors.ts';
import { fromCall } from '../../wire/call-values.ts';
import { decodeError, toQuipuError } from '../../wire/error-message.ts';
import {
  toReqId,
  FrameReader,
  FRAME_HEADER_BYTES,
  encodeFrame,
  toFrame,
  writeFrameHeader,
} from '../../wire/frame.ts';
import type { FrameEvent } from '../../wire/frame.ts';
import { FRAME_PAYLOAD_MAX } from '../../wire/limits.ts';
import { MessageType, PUSHED } from '../../wire/message-type.ts';
import { decodeStream } from '../../wire/call.ts';
import type { Parts } from '../../wire/byte-codec.ts';
import { fromServer, outcomeUnknown } from '../transport.ts';
import type { Dialled } from './dial.ts';
import type { PushedItems, Waiter } from './pending-calls.ts';
import { lengthOf } from '../../wire/byte-codec.ts';
import type { OutgoingMessage } from './outgoing-message.ts';

// One connection to a server, until it is lost.
// Invariants
// - Each request gets one reply or one error. When the connection is lost, all waiting requests get UNAVAILABLE with an
//   unknown outcome, because their frames may have arrived.
// - The process may end while no request waits.

/** After this much silence, while a request waits, the connection checks whether the server is alive. */
const QUIET_MS = 15_000;
/** After this much silence the connection ends. It is above the time that a server may take for its longest answer. */
const DEAD_MS = 45_000;

export class Connection {
  readonly #socket: Socket;
  readonly #reader = new FrameReader(FRAME_PAYLOAD_MAX, { own: true });
  readonly #outbox: Outbox;
  readonly #waiting = new Map<number, Waiter>();
  readonly #streams = new Map<number, PushedItems>();
  readonly #hello: Parts;
  readonly #pulse: NodeJS.Timeout;
  /** A counter never gets near 48 bits. */
  #lastId = 0;
  #heardAt = Date.now();
  #ended: QuipuError | undefined;

  /** Takes an established connection. `hello` is its first message, sent again to check whether the server is alive. */
  constructor(dialled: Dialled, hello: Parts) {
    const { socket } = dialled;
    this.#socket = socket;
    this.#outbox = new Outbox(socket);
    this.#hello = hello;
    dialled.receive = (chunk) => this.#take(chunk);
    dialled.room = () => this.#reader.room();
    socket.on('error', (error) => this.end(error));
    socket.on('close', () => this.end());
    this.#pulse = setInterval(() => this.#feelPulse(), QUIET_MS / 3).unref();
  }

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  /** Returns the request id at once; the payload of the reply comes later. */
  request(message: Sent): { readonly id: number; readonly reply: Promise<Buffer> } {
    const id = this.#nextId();
    return { id, reply: this.#ask(id, message) };
  }

  /** Throws for a message that cannot be sent; `waiter` hears of all else. */
  send(message: Sent, waiter: Waiter): void {
    this.#send(this.#nextId(), message, waiter);
  }

  /** The pieces of the answer go to `items`. Pieces may arrive before the reply. */
  async requestStream(parts: Parts, items: PushedItems): Promise<number> {
    const id = this.#nextId();
    this.#streams.set(id, items);
    try {
      await this.#ask(id, { type: MessageType.CALL, parts });
      return id;
    } catch (error) {
      this.#streams.delete(id);
      throw error;
    }
  }

  /** Tells the server that nobody reads the stream any more. */
  forgetStream(id: number): void {
    if (!this.#streams.delete(id) || !this.isOpen) return;
    const parts = [toReqId(BigInt(id))];
    // Neither the reply nor its absence matters.
    this.request({ type: MessageType.UNSUBSCRIBE, parts }).reply.catch(() => undefined);
  }

  /** Fails all waiting requests. `cause` is the error, if there was one. */
  end(cause?: unknown): void {
    if (this.#ended !== undefined) return;
    const error = cause instanceof QuipuError ? cause : outcomeUnknown(LOST, cause);
    this.#ended = error;
    clearInterval(this.#pulse);
    this.#socket.destroy();
    for (const waiter of this.#waiting.values()) waiter.fail(error);
    for (const items of this.#streams.values()) items.end(error);
    this.#waiting.clear();
    this.#streams.clear();
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #ask(id: number, message: Sent): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#send(id, message, { answer: resolve, fail: reject });
    });
  }

  #send(id: number, message: Sent, waiter: Waiter): void {
    if (this.#ended !== undefined) throw this.#ended;
    this.#outbox.add(id, message);
    if (this.#waiting.size === 0) {
      this.#heardAt = Date.now();
      this.#socket.ref();
    }
    this.#waiting.set(id, waiter);
  }

  #take(chunk: Buffer): void {
    this.#heardAt = Date.now();
    this.#reader.push(chunk);
    try {
      for (let event = this.#reader.next(); event !== undefined; event = this.#reader.next()) {
        this.#handle(event);
      }
    } catch (error) {
      this.end(outcomeUnknown('the server sent what is not of this protocol', error));
    }
    if (this.#waiting.size === 0 && this.#streams.size === 0) this.#socket.unref();
  }

  #handle(event: FrameEvent): void {
    if (event.kind === 'oversized') {
      throw tooLarge(
        'frame',
        FRAME_PAYLOAD_MAX,
        event.length,
        'the server sent a frame over the limit',
      );
    }
    const id = event.reqId.readUIntLE(0, 6);
    if ((event.flags & PUSHED) !== 0) {
      this.#handlePush(id, event.payload);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (event.type !== MessageType.ERROR) {
      waiting?.answer(event.payload);
      return;
    }
    const error = fromServer(toQuipuError(decodeError(event.payload)));
    // An error that answers no request is about the connection itself.
    if (waiting === undefined) this.end(error);
    else waiting.fail(error);
  }

  #handlePush(id: number, payload: Buffer): void {
    const items = this.#streams.get(id);
    if (items === undefined) return;
    const push = decodeStream(payload);
    if (push.kind === 'item') {
      if (!items.push(fromCall(push.body), payload.length)) this.forgetStream(id);
      return;
    }
    this.#streams.delete(id);
    items.end(push.kind === 'error' ? fromServer(toQuipuError(push.error)) : undefined);
  }

  #feelPulse(): void {
    if (this.#waiting.size === 0 && this.#streams.size === 0) return;
    const quietMs = Date.now() - this.#heardAt;
    if (quietMs >= DEAD_MS) this.end(new Error(`nothing was heard for ${quietMs} ms`));
    else if (quietMs >= QUIET_MS) {
      this.request({ type: MessageType.HELLO, parts: this.#hello }).reply.catch(() => undefined);
    }
  }
}

const LOST = 'the connection to the server was lost before the answer came';

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
