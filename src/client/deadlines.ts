/** Something that must be over by then, unless it is taken back. */
export interface Deadline {
  /** As `performance.now()` counts. */
  readonly at: number;
  passed(): void;
}

/**
 * Tells those that are not taken back in time. One timer for all, set to the first of them and not moved when
 * that one is taken back: a timer for each request took longer than sending it.
 */
export class Deadlines {
  readonly #waiting = new Set<Deadline>();
  #timer: NodeJS.Timeout | undefined;
  #firesAt = Infinity;

  add(deadline: Deadline): void {
    this.#waiting.add(deadline);
    this.#setTimer(deadline.at);
  }

  takeBack(deadline: Deadline): void {
    this.#waiting.delete(deadline);
  }

  #setTimer(at: number): void {
    if (at >= this.#firesAt) return;
    clearTimeout(this.#timer);
    this.#firesAt = at;
    // Whoever waits keeps the process alive by what it waits for.
    this.#timer = setTimeout(() => this.#fire(), Math.max(0, at - performance.now())).unref();
  }

  #fire(): void {
    this.#firesAt = Infinity;
    const now = performance.now();
    let next = Infinity;
    for (const deadline of this.#waiting) {
      if (deadline.at > now) {
        next = Math.min(next, deadline.at);
        continue;
      }
      this.#waiting.delete(deadline);
      deadline.passed();
    }
    this.#setTimer(next);
  }
}
