import type { Socket } from 'node:net';
import { QuipuError, tooLarge } from '../../base/errors.ts';
import { fromCall } from '../../wire/call-values.ts';
import { decodeError, toQuipuError } from '../../wire/error-message.ts';
import { toReqId } from '../../wire/frame.ts';
import { FrameReader } from '../../wire/frame-reader.ts';
import type { FrameEvent } from '../../wire/frame-reader.ts';
import { FRAME_PAYLOAD_MAX } from '../../wire/limits.ts';
import { MessageType, PUSHED } from '../../wire/message-type.ts';
import { decodeStream } from '../../wire/call.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import { fromServer, outcomeUnknown } from '../transport.ts';
import type { Dialled } from './dial.ts';
import { Outbox } from './outbox.ts';
import type { Sent } from './outbox.ts';
import type { PushedItems } from './pushed-items.ts';
import type { Waiter } from './pending-calls.ts';

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
