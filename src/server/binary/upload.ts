import { Bell } from '../../base/bell.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import type { LongTask } from '../request/long-tasks.ts';

// The body of one CALL that arrives in pieces.
// Invariants
// - The reader gets the pieces in the order in which they arrived, each once, and no end before `end`.
// - At most `UPLOAD_BYTES_MAX` and the pieces that are not answered yet wait for the reader.

const UPLOAD_BYTES_MAX = 4 * 1024 * 1024;
/** The bytes that a piece costs in addition to its content. */
const PIECE_BYTES = 128;

type Read = (body: AsyncIterable<Uint8Array>, signal: AbortSignal) => Promise<unknown>;

export class Upload implements LongTask {
  readonly kind = 'upload';
  readonly #pieces: Uint8Array[] = [];
  #waitingBytes = 0;
  /** True when all pieces have arrived. */
  #complete = false;
  /** True when the reader has ended, well or badly, and takes no more pieces. */
  #done = false;
  #failure: Error | undefined;
  #result: Promise<unknown> = Promise.resolve();
  readonly #abort = new AbortController();
  readonly #idle: NodeJS.Timeout;
  /** Rings when there may be something for the reader. */
  readonly #bell = new Bell();
  #wakeWriters: (() => void)[] = [];

  constructor(idleMs: number) {
    this.#idle = setTimeout(() => this.cancel(), idleMs).unref();
  }

  /** Gives the body to `read`, whose result is the answer. Must be called once. */
  start(read: Read): void {
    this.#result = this.#readAll(read);
    // The result may fail before anyone waits for it.
    this.#result.catch(() => undefined);
  }

  async #readAll(read: Read): Promise<unknown> {
    try {
      return await read(this.#body(), this.#abort.signal);
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      this.#finish();
    }
  }

  /** Resolves when the piece has been taken in. */
  async push(piece: Uint8Array): Promise<void> {
    if (this.#complete) throw invalid('upload', 'has ended; it takes no more pieces');
    this.#idle.refresh();
    if (!this.#done && piece.length > 0) {
      // A small part of a large message must not keep the whole message in memory.
      const isSmallPart = piece.length * 2 < piece.buffer.byteLength;
      this.#pieces.push(isSmallPart ? new Uint8Array(piece) : piece);
      this.#waitingBytes += piece.length + PIECE_BYTES;
      this.#bell.ring();
    }
    while (!this.#done && this.#waitingBytes > UPLOAD_BYTES_MAX) {
      await new Promise<void>((resolve) => {
        this.#wakeWriters.push(resolve);
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves to the reader's answer to the whole body. */
  end(): Promise<unknown> {
    this.#complete = true;
    clearTimeout(this.#idle);
    this.#bell.ring();
    return this.#result;
  }

  cancel(): void {
    this.#failure ??= new QuipuError('CLOSED', 'the upload was aborted', { what: 'upload' });
    this.#abort.abort();
    this.#finish();
  }

  #finish(): void {
    this.#done = true;
    clearTimeout(this.#idle);
    this.#pieces.length = 0;
    this.#waitingBytes = 0;
    this.#bell.ring();
    this.#wakeAllWriters();
  }

  async *#body(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure;
        const piece = this.#pieces.shift();
        if (piece !== undefined) {
          this.#waitingBytes -= piece.length + PIECE_BYTES;
          if (this.#waitingBytes <= UPLOAD_BYTES_MAX) this.#wakeAllWriters();
          yield piece;
          continue;
        }
        if (this.#complete) return;
        await this.#bell.wait();
      }
    } finally {
      // The reader may stop early. Then nobody should wait for it.
      this.#done = true;
      this.#wakeAllWriters();
    }
  }

  #wakeAllWriters(): void {
    const waiting = this.#wakeWriters;
    this.#wakeWriters = [];
    for (const resolve of waiting) resolve();
  }
}
