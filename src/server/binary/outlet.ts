import type { Socket } from 'node:net';
import { QuipuError } from '../../base/errors.ts';
import type { OutgoingFrame } from '../../wire/frame.ts';

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
