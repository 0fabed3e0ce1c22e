import { setTimeout } from 'node:timers/promises';

/** Something to wait for. What happened since the last wait began is not missed. */
export class Alarm {
  #isSet = false;
  #waker = new AbortController();

  set(): void {
    this.#isSet = true;
    this.#waker.abort();
  }

  /** Resolves when it is set, or was since the last time, and after `ms` in any case. Rejects when aborted. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (!this.#isSet) {
      this.#waker = new AbortController();
      const signals = [this.#waker.signal, ...(signal === undefined ? [] : [signal])];
      await setTimeout(ms, undefined, { signal: AbortSignal.any(signals) }).catch(() => undefined);
      signal?.throwIfAborted();
    }
    this.#isSet = false;
  }
}
