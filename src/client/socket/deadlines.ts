/** Something that must be over by a time, unless it is taken back. */
export interface Deadline {
  /** The time, as `performance.now()` counts. */
  readonly at: number;
  passed(): void;
}

/**
 * Notifies the deadlines that are not taken back in time. One timer serves all. The timer is set to the first deadline,
 * and is not moved when that one is taken back: a timer for each request took longer than sending it.
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
    // The timer need not keep the process alive: the connection that a caller waits for does.
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
