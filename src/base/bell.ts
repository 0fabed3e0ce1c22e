/** Wakes one waiter. Rings without a waiter count once, so no wake-up is lost. */
export class Bell {
  #rung = false;
  #wake: () => void = () => undefined;

  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  /**
   * Resolves when the bell rings or has rung since the last wait, and after `ms` in any case. Rejects when aborted.
   */
  async wait(ms: number = Infinity, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.#rung) await this.#sleep(ms, signal);
    this.#rung = false;
    signal?.throwIfAborted();
  }

  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = Number.isFinite(ms) ? setTimeout(done, ms) : undefined;
      function done(): void {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      }
      this.#wake = done;
      signal?.addEventListener('abort', done, { once: true });
    });
  }
}
