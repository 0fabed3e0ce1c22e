/** Counts what is under way, for those who want to go once it is done. */
export class Underway {
  #count = 0;
  #onEmpty: (() => void) | undefined;

  /** Trusts the caller to `leave`, whatever happens. */
  enter(): void {
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onEmpty?.();
  }

  async add<T>(work: Promise<T>): Promise<T> {
    this.enter();
    try {
      return await work;
    } finally {
      this.leave();
    }
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }
}
