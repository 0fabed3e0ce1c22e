import { setTimeout as sleep } from 'node:timers/promises';
import { pauseMs } from '../base/pause.ts';

/** How long somebody goes on trying, with pauses that grow. */
export class Patience {
  readonly #deadline: number;
  #attempts = 0;

  constructor(forMs: number) {
    this.#deadline = Date.now() + forMs;
  }

  /** Not before a second attempt: who stood still himself has made one, and all his time is gone. */
  get isOver(): boolean {
    return this.#attempts > 0 && Date.now() >= this.#deadline;
  }

  async pause(signal?: AbortSignal): Promise<void> {
    const given = signal === undefined ? {} : { signal };
    // Cut short, it is over: whoever cuts it knows.
    await sleep(pauseMs(this.#attempts), undefined, given).catch(() => undefined);
    this.#attempts += 1;
  }
}
