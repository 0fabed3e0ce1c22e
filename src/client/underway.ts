/** Counts the tasks in progress, for callers that want to leave once all are done. */
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

  /** Resolves when no task is in progress any more. */
  async settled(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }
}
