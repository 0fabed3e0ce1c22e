import type { Socket } from 'node:net';
import type { FrameEvent, OutgoingFrame } from '../../wire/frame.ts';
import { FrameReader, FRAME_HEADER_BYTES } from '../../wire/frame.ts';
import type { ByteBudget } from '../memory/byte-budget.ts';
import { QuipuError } from '../../base/errors.ts';

// The input side of one connection.
// Invariants
// - The socket is read from the first `advance` on, and only while requests may be taken. Bytes that arrive at other
//   times stay with the peer, except for one chunk.
// - Bytes count against the budget of the server from their arrival until `release`. Skipped bytes do not count.

export interface InletParts {
  readonly budget: ByteBudget;
  readonly received: ((bytes: number) => void) | undefined;
  /** False while no further request may be taken. */
  mayTake(): boolean;
  /** The longest payload that the next frame may have. */
  maxPayload(): number;
  take(event: FrameEvent): void;
  /** Called when the peer has sent its last frame and the inlet has taken it. */
  ended(): void;
}

export class Inlet {
  readonly #socket: Socket;
  readonly #parts: InletParts;
  readonly #reader = new FrameReader(0);
  /** Bytes that arrived, less those of the frames taken. Below 0 while a payload is skipped. */
  #unread = 0;
  /** Bytes of requests that are not answered yet. */
  #taken = 0;
  /** Bytes that the budget has counted. */
  #counted = 0;
  #taking = false;
  /** True while the socket is not read: no request may be taken, or nobody has called `advance` yet. */
  #held = true;
  #peerEnded = false;
  #discarding = false;

  constructor(socket: Socket, parts: InletParts) {
    this.#socket = socket;
    this.#parts = parts;
    socket.pause();
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => {
      this.#peerEnded = true;
      this.#takeAll();
    });
  }

  /** True when the peer has begun a frame and not finished it. */
  get isMidFrame(): boolean {
    return this.#reader.isMidFrame && !this.#discarding;
  }

  /** Takes the requests that may be taken now, if some had to wait. */
  advance(): void {
    if (this.#held) this.#takeAll();
  }

  /** Frees the bytes of a request that was answered. */
  release(bytes: number): void {
    this.#taken -= bytes;
    this.#count();
  }

  /** Throws away all further input. */
  discard(): void {
    this.#discarding = true;
    this.#socket.resume();
  }

  close(): void {
    this.#discarding = true;
    this.#unread = 0;
    this.#taken = 0;
    this.#count();
  }

  #onData(chunk: Buffer): void {
    this.#parts.received?.(chunk.length);
    if (this.#discarding) return;
    this.#unread += chunk.length;
    this.#count();
    this.#reader.push(chunk);
    this.#takeAll();
  }

  /** Takes the requests that may be taken now. Then continues or stops reading. */
  #takeAll(): void {
    if (this.#taking || this.#discarding) return;
    this.#taking = true;
    let isEmpty = false;
    while (!isEmpty && !this.#discarding && this.#parts.mayTake()) {
      this.#reader.maxPayload = this.#parts.maxPayload();
      const event = this.#reader.next();
      if (event === undefined) isEmpty = true;
      else this.#take(event);
    }
    this.#taking = false;
    if (this.#discarding) return;
    this.#hold(!this.#parts.mayTake());
    if (isEmpty && this.#peerEnded) this.#parts.ended();
  }

  #hold(held: boolean): void {
    if (held === this.#held) return;
    this.#held = held;
    if (held) this.#socket.pause();
    else this.#socket.resume();
  }

  #take(event: FrameEvent): void {
    const isFrame = event.kind === 'frame';
    const length = isFrame ? event.payload.length : event.length;
    this.#unread -= FRAME_HEADER_BYTES + length;
    if (isFrame) this.#taken += length;
    this.#count();
    this.#parts.take(event);
  }

  #count(): void {
    const held = this.#taken + Math.max(0, this.#unread);
    this.#parts.budget.add(held - this.#counted);
    this.#counted = held;
  }
}

// The output side of one connection.
// Invariants
// - A frame is one piece: no other bytes stand between its bytes. They leave in one write, together with the frames of
//   the same tick that fit.
// - Once `limit` bytes wait in the socket, the outlet is full until all of them have left.

const LARGE_BYTES = 65_536;

/** The outlets that have something to send at the end of this tick: one `nextTick` serves all connections. */
let departing: (() => void)[] = [];

function departAll(): void {
  const all = departing;
  departing = [];
  for (const depart of all) depart();
}

export class Outlet {
  readonly #socket: Socket;
  readonly #limit: number;
  readonly #sent: ((bytes: number) => void) | undefined;
  readonly #unsent: ((bytes: number) => void) | undefined;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #full = false;
  #closed = false;
  #waiting: (() => void)[] = [];

  /** `sent` is told of every frame; `unsent` of the bytes that wait in the socket, whenever it did not take all. */
  constructor(
    socket: Socket,
    limit: number,
    sent?: (bytes: number) => void,
    unsent?: (bytes: number) => void,
  ) {
    this.#socket = socket;
    this.#limit = limit;
    this.#sent = sent;
    this.#unsent = unsent;
    socket.on('drain', () => {
      this.#full = false;
      this.#unsent?.(0);
      this.#wake();
    });
  }

  get full(): boolean {
    return this.#full;
  }

  write({ chunks, length }: OutgoingFrame): void {
    if (this.#closed) return;
    // Runs after all replies that became ready in this tick are written.
    if (this.#chunks.length === 0 && departing.push(this.#depart) === 1) {
      process.nextTick(departAll);
    }
    for (const chunk of chunks) this.#chunks.push(chunk);
    this.#bytes += length;
    // A large frame counts at once: many of them could be made at the same tick.
    const isMuch =
      length >= LARGE_BYTES || this.#bytes + this.#socket.writableLength >= this.#limit;
    if (isMuch) this.#depart();
    this.#sent?.(length);
  }

  /** Accepts no more writes. The bytes already written still leave. */
  end(): void {
    this.#depart();
    this.#socket.end();
  }

  /** Resolves when the caller may write more. CLOSED when the connection has ended. */
  async room(): Promise<void> {
    while (this.#full && !this.#closed) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    if (this.#closed) {
      throw new QuipuError('CLOSED', 'the connection has ended', { what: 'connection' });
    }
  }

  close(): void {
    this.#closed = true;
    this.#chunks = [];
    this.#wake();
  }

  readonly #depart = (): void => {
    const socket = this.#socket;
    const chunks = this.#chunks;
    const [first] = chunks;
    if (first === undefined) return;
    this.#chunks = [];
    this.#bytes = 0;
    if (chunks.length === 1) socket.write(first);
    else {
      socket.cork();
      for (const chunk of chunks) socket.write(chunk);
      socket.uncork();
    }
    // A socket emits `drain` only if it needed to drain.
    if (!socket.writableNeedDrain) return;
    this.#unsent?.(socket.writableLength);
    if (socket.writableLength >= this.#limit) this.#full = true;
  };

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
