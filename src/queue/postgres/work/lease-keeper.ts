import { performance } from 'node:perf_hooks';

/** A lease is renewed so often in its time. */
const RENEWALS = 3;
/** After this part of its time without an answer it is given up: the rest is for stopping the handler. */
const GIVE_UP = 0.75;

/**
 * Keeps a lease for as long as somebody works under it. Its time is counted from when the database was asked, so it is
 * given up here before the database gives it to another.
 */
export class LeaseKeeper {
  readonly #renew: () => Promise<boolean>;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  #renewing: NodeJS.Timeout;
  #deadline: NodeJS.Timeout;
  #isOver = false;

  /** `askedAt`: when the database was asked for the lease, by `performance.now`. */
  constructor(renew: () => Promise<boolean>, leaseMs: number, askedAt: number) {
    this.#renew = renew;
    this.#leaseMs = leaseMs;
    this.#deadline = this.#giveUpAfter(askedAt);
    this.#renewing = this.#renewSoon();
  }

  /** Aborted when the lease is, or may soon be, another's. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** From now on nobody works under it. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#renewing);
    clearTimeout(this.#deadline);
  }

  #giveUpAfter(askedAt: number): NodeJS.Timeout {
    const leftMs = askedAt + this.#leaseMs * GIVE_UP - performance.now();
    return setTimeout(() => this.#lose(), Math.max(0, leftMs));
  }

  #renewSoon(): NodeJS.Timeout {
    return setTimeout(() => void this.#renewOnce(), this.#leaseMs / RENEWALS);
  }

  async #renewOnce(): Promise<void> {
    const askedAt = performance.now();
    try {
      const isMine = await this.#renew();
      if (this.#isOver) return;
      if (!isMine) return this.#lose();
      clearTimeout(this.#deadline);
      this.#deadline = this.#giveUpAfter(askedAt);
    } catch {
      // The next one may be answered, and until then the time runs.
      if (this.#isOver) return;
    }
    this.#renewing = this.#renewSoon();
  }

  #lose(): void {
    this.stop();
    this.#lost.abort();
  }
}
