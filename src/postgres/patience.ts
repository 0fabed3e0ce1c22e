import { setTimeout as sleep } from 'node:timers/promises';
import { pauseMs } from '../base/pause.ts';

/** How long somebody goes on trying, with pauses that grow. */
export class Patience {
  readonly #deadline: number;
  #attempts = 0;

  constructor(forMs: number) {
    this.#deadline = Date.now() + forMs;
  }

  get isOver(): boolean {
    return Date.now() >= this.#deadline;
  }

  async pause(signal?: AbortSignal): Promise<void> {
    const given = signal === undefined ? {} : { signal };
    // Cut short, it is over: whoever cuts it knows.
    await sleep(pauseMs(this.#attempts), undefined, given).catch(() => undefined);
    this.#attempts += 1;
  }
}
