// Upkeep works on the thread that commits need, and through the queue that they wait in. So it works in
// steps of a few milliseconds, and after each one lets the commits under way get to their end. On a store
// that nobody writes to it waits for nothing; on one that is always busy it still gets a share.

const STEP_MS = 2;
const WAIT_MS = 8;

export class GiveWay {
  readonly #settle: () => Promise<void>;
  #since: number = performance.now();

  /** `settle` resolves when no commit is under way. */
  constructor({ settle }: { settle: () => Promise<void> }) {
    this.#settle = settle;
  }

  /** True when it is time to rest. */
  get isDue(): boolean {
    return performance.now() - this.#since >= STEP_MS;
  }

  async rest(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, WAIT_MS);
    });
    await Promise.race([this.#settle(), enough]);
    clearTimeout(timer);
    // Whatever has arrived from the disk or the network is dealt with before this returns.
    await new Promise((resolve) => setImmediate(resolve));
    this.#since = performance.now();
  }
}
