const TICK_MS = 10;
const ATTEMPTS = 10;

/**
 * A test that is done again when it failed and this process had stood still for `ms` meanwhile: with times as short as
 * tests need them, that failure is the machine's. Any other failure, and that of the last attempt, is what it is.
 */
export function undisturbed<A extends readonly unknown[]>(
  ms: number,
  test: (...args: A) => Promise<void>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    for (let left = ATTEMPTS - 1; ; left -= 1) {
      using pauses = new Pauses();
      try {
        return await test(...args);
      } catch (error) {
        if (left === 0 || pauses.longestMs < ms) throw error;
      }
    }
  };
}

/** How long this process stood still at a time. */
class Pauses implements Disposable {
  readonly #timer: NodeJS.Timeout = setInterval(() => this.#tick(), TICK_MS);
  #lastAt = performance.now();
  #longestMs = 0;

  get longestMs(): number {
    this.#tick();
    return this.#longestMs;
  }

  #tick(): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#lastAt - TICK_MS);
    this.#lastAt = now;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
