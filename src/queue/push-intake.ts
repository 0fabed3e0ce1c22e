import type { CheckedEvent } from './check-input.ts';

interface Waiting {
  readonly events: readonly CheckedEvent[];
  readonly resolve: (ids: number[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Pushes that come at the same time share one transaction, and so one sync of the disk. */
export class PushIntake {
  readonly #store: (events: readonly CheckedEvent[]) => number[];
  #waiting: Waiting[] = [];

  constructor(store: (events: readonly CheckedEvent[]) => number[]) {
    this.#store = store;
  }

  add(events: readonly CheckedEvent[]): Promise<number[]> {
    if (this.#waiting.length === 0) setImmediate(() => this.flush());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, resolve, reject });
    });
  }

  flush(): void {
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0) return;
    try {
      const [only] = group;
      const together =
        group.length === 1 && only ? only.events : group.flatMap(({ events }) => events);
      const ids = this.#store(together);
      let done = 0;
      for (const { events, resolve } of group) {
        resolve(ids.slice(done, done + events.length));
        done += events.length;
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
