import { unavailable } from '../transport.ts';

const ITEMS_MAX = 10_000;
const BYTES_MAX = 16_777_216;

interface Waiting {
  readonly value: unknown;
  readonly bytes: number;
}

/**
 * Items that the server pushed and nobody has taken yet, up to a limit. A reader that falls behind the limit is cut
 * off. If the socket were stopped instead, every other answer on it would wait, perhaps for that very reader.
 */
export class PushedItems {
  #waiting: Waiting[] = [];
  #bytes = 0;
  #ending: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  get isOver(): boolean {
    return this.#ending !== undefined;
  }

  /** False when the reader is too slow; the items then have an end. */
  push(value: unknown, bytes: number): boolean {
    if (this.#ending !== undefined) return true;
    this.#waiting.push({ value, bytes });
    this.#bytes += bytes;
    const isTooMuch = this.#waiting.length > 1 && this.#bytes > BYTES_MAX;
    if (isTooMuch || this.#waiting.length > ITEMS_MAX) {
      this.#waiting = [];
      this.end(unavailable('the stream came faster than it was read'));
      return false;
    }
    this.#wake?.();
    return true;
  }

  /** Undefined means a normal end. Earlier items can still be taken. */
  end(error?: Error): void {
    this.#ending ??= { error };
    this.#wake?.();
  }

  /** The next item; done at a normal end. Throws after a failure. */
  async next(): Promise<{ readonly done: boolean; readonly value?: unknown }> {
    for (;;) {
      const [first] = this.#waiting;
      if (first !== undefined) {
        this.#waiting.shift();
        this.#bytes -= first.bytes;
        return { done: false, value: first.value };
      }
      if (this.#ending !== undefined) {
        if (this.#ending.error === undefined) return { done: true };
        throw this.#ending.error;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}
