/** Something to wait for. What happened since the last wait ended is not missed. */
export class Alarm {
  #isSet = false;
  #wake: () => void = () => undefined;

  set(): void {
    this.#isSet = true;
    this.#wake();
  }

  /** Resolves when it is set, or was since the last time, and after `ms` in any case. Rejects when aborted. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.#isSet) await this.#sleep(ms, signal);
    this.#isSet = false;
    signal?.throwIfAborted();
  }

  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, ms);
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
