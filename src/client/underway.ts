/** Counts what is under way, for those who want to go once it is done. */
export class Underway {
  #count = 0;
  #onEmpty: (() => void) | undefined;

  async add<T>(work: Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await work;
    } finally {
      this.#count -= 1;
      if (this.#count === 0) this.#onEmpty?.();
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
