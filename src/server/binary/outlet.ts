import type { Socket } from 'node:net';
import { QuipuError } from '../../base/errors.ts';
import type { OutgoingFrame } from '../../wire/to-frame.ts';

// The way out of one connection.
// Invariants
// - A frame is one piece: nothing stands between its bytes, and they leave in one write, together with
//   the frames of the same moment.
// - Once `limit` bytes wait in the socket the outlet is full until all of them have left.

export class Outlet {
  readonly #socket: Socket;
  readonly #limit: number;
  readonly #sent: ((bytes: number) => void) | undefined;
  #corked = false;
  #full = false;
  #closed = false;
  #waiting: (() => void)[] = [];

  constructor(socket: Socket, limit: number, sent?: (bytes: number) => void) {
    this.#socket = socket;
    this.#limit = limit;
    this.#sent = sent;
    socket.on('drain', () => {
      this.#full = false;
      this.#wake();
    });
  }

  get full(): boolean {
    return this.#full;
  }

  write({ chunks, length }: OutgoingFrame): void {
    if (this.#closed) return;
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
      // Runs when everything that became ready at this moment is written.
      process.nextTick(() => {
        this.#corked = false;
        this.#socket.uncork();
      });
    }
    for (const chunk of chunks) this.#socket.write(chunk);
    const { writableLength, writableNeedDrain } = this.#socket;
    // Only what needs to drain tells when it has.
    if (writableNeedDrain && writableLength >= this.#limit) this.#full = true;
    this.#sent?.(length);
  }

  /** Resolves when more may be written. CLOSED when the connection has ended. */
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
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
