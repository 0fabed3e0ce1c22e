import { performance } from 'node:perf_hooks';

/** A lease is renewed this many times during its lifetime. */
const RENEWALS = 3;
/** After this part of its lifetime without an answer the lease is given up. The rest is for stopping the handler. */
const GIVE_UP = 0.75;

/**
 * Keeps a lease for as long as somebody works under it. The lifetime is counted from the moment of the request to the
 * database, so this process gives the lease up before the database gives it to another.
 */
export class LeaseKeeper {
  readonly #renew: () => Promise<boolean>;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  #renewing: NodeJS.Timeout;
  #deadline: NodeJS.Timeout;
  #isOver = false;

  /** `askedAt`: the time of the request for the lease, by `performance.now`. */
  constructor(renew: () => Promise<boolean>, leaseMs: number, askedAt: number) {
    this.#renew = renew;
    this.#leaseMs = leaseMs;
    this.#deadline = this.#giveUpAfter(askedAt);
    this.#renewing = this.#renewSoon();
  }

  /** Aborted when the lease belongs to another worker, or may soon. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** From now on nobody works under the lease. */
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
      // The next request may be answered. Until then the time runs.
      if (this.#isOver) return;
    }
    this.#renewing = this.#renewSoon();
  }

  #lose(): void {
    this.stop();
    this.#lost.abort();
  }
}
