import { setTimeout as sleep } from 'node:timers/promises';
import { pauseMs } from '../base/pause.ts';

/** A retry deadline, with pauses that grow. */
export class Patience {
  readonly #deadline: number;
  #attempts = 0;

  constructor(forMs: number) {
    this.#deadline = Date.now() + forMs;
  }

  /**
   * Never true before a second attempt: a process that was itself suspended has made one attempt and used all its
   * time.
   */
  get isOver(): boolean {
    return this.#attempts > 0 && Date.now() >= this.#deadline;
  }

  async pause(signal?: AbortSignal): Promise<void> {
    const given = signal === undefined ? {} : { signal };
    // An abort only ends the pause. The code that aborts knows why.
    await sleep(pauseMs(this.#attempts), undefined, given).catch(() => undefined);
    this.#attempts += 1;
  }
}
