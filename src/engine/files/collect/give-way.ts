// Upkeep works on the thread that commits need, and through the queue that they wait in. So upkeep works in steps
// of a few milliseconds, and after each step lets the commits in hand finish. On an idle store upkeep waits for
// nothing. On a store that is always busy it still gets a share.

const STEP_MS = 2;
const WAIT_MS = 8;

export class GiveWay {
  readonly #settle: () => Promise<void>;
  readonly #now: () => number;
  #since: number;

  /** `settle` resolves when the commits in hand are decided. `now` counts milliseconds. */
  constructor(settle: () => Promise<void>, now: () => number = () => performance.now()) {
    this.#settle = settle;
    this.#now = now;
    this.#since = now();
  }

  /** True when it is time to pause. */
  get isDue(): boolean {
    return this.#now() - this.#since >= STEP_MS;
  }

  async breathe(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, WAIT_MS);
    });
    await Promise.race([this.#settle(), enough]);
    clearTimeout(timer);
    // Everything that has arrived from the disk or the network is handled before this returns.
    await new Promise((resolve) => setImmediate(resolve));
    this.#since = this.#now();
  }
}
