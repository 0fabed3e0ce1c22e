import { availableParallelism } from 'node:os';

/** So many waits in a row that were too long, and the next one is slept through. */
const MISSES_MAX = 2;

/** A turn of the loop takes 3 µs when there is nothing to do; one that takes this long had to share its processor. */
const SHARED_MS = 0.5;
/**
 * One that takes this long had much else to do, or was not let on a processor at all: a container has used up its
 * share of them. Waits are slept through for a while then, and for longer each time that it happens again soon.
 */
const TAKEN_MS = 10;
const REST_MS_MIN = 50;
const REST_MS_MAX = 10_000;
const SOON_MS = 500;

export interface VigilOptions {
  readonly processors?: number;
  readonly now?: () => number;
}

/**
 * Waits for something without going to sleep, if it came soon the last times: turns the event loop until it
 * comes, or for `maxMs`. All else that the loop has to do is done meanwhile. A process that sleeps on a virtual
 * processor runs again only 30 to 60 µs after its bytes have arrived, and waking it takes the sender as long.
 */
export class Vigil {
  readonly #maxMs: number;
  readonly #mayTurn: boolean;
  readonly #now: () => number;
  /** When the wait began; undefined while nothing is waited for. */
  #since: number | undefined;
  /** When the loop was last here during this wait. */
  #turnedAt: number | undefined;
  #misses = MISSES_MAX;
  #restMs = 0;
  #restUntil = -Infinity;
  #isTurning = false;

  /** With one processor it always sleeps: whoever is waited for could not get on with it. */
  constructor(maxMs: number, { processors = availableParallelism(), now }: VigilOptions = {}) {
    this.#maxMs = maxMs;
    this.#mayTurn = processors > 1;
    this.#now = now ?? performance.now.bind(performance);
  }

  /** It is waited for from now on. True when that is done awake, so that every microsecond counts. */
  begin(): boolean {
    this.#since = this.#now();
    this.#turnedAt = undefined;
    const isAwake = this.#mayTurn && this.#misses < MISSES_MAX && this.#since >= this.#restUntil;
    if (isAwake && !this.#isTurning) {
      this.#isTurning = true;
      setImmediate(this.#turn);
    }
    return isAwake;
  }

  /** It came. */
  end(): void {
    if (this.#since === undefined) return;
    this.#misses = this.#now() - this.#since <= this.#maxMs ? 0 : this.#misses + 1;
    this.#since = undefined;
  }

  /** It is not to be waited for like this: something else is, too. */
  giveUp(): void {
    this.#since = undefined;
    this.#misses = MISSES_MAX;
  }

  readonly #turn = (): void => {
    const now = this.#now();
    if (now - (this.#turnedAt ?? now) > TAKEN_MS) this.#rest(now);
    this.#isTurning = this.#since !== undefined && this.#isWorthIt(this.#since, now);
    this.#turnedAt = now;
    if (this.#isTurning) setImmediate(this.#turn);
  };

  #rest(now: number): void {
    const isAgain = now - this.#restUntil < SOON_MS;
    this.#restMs = isAgain ? Math.min(this.#restMs * 4, REST_MS_MAX) : REST_MS_MIN;
    this.#restUntil = now + this.#restMs;
  }

  #isWorthIt(since: number, now: number): boolean {
    return now - since <= this.#maxMs && now - (this.#turnedAt ?? now) <= SHARED_MS;
  }
}
