import type { CheckedEvent } from './check-input.ts';

interface Waiting {
  readonly events: readonly CheckedEvent[];
  readonly resolve: (ids: number[]) => void;
  readonly reject: (error: unknown) => void;
}

type Store = (events: readonly CheckedEvent[]) => number[] | Promise<number[]>;

/** Pushes that come at the same time, or while others are stored, share one transaction and one sync of the disk. */
export class PushIntake {
  readonly #store: Store;
  readonly #eventsMax: number;
  #waiting: Waiting[] = [];
  #isStoring = false;
  #stored: Promise<void> = Promise.resolve();

  /** `eventsMax`: a transaction with this many events takes no further push. */
  constructor(store: Store, eventsMax: number = Infinity) {
    this.#store = store;
    this.#eventsMax = eventsMax;
  }

  add(events: readonly CheckedEvent[]): Promise<number[]> {
    if (this.#waiting.length === 0) setImmediate(() => void this.flush());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, resolve, reject });
    });
  }

  /** Resolves when every earlier push is stored, or refused. */
  flush(): Promise<void> {
    if (!this.#isStoring) this.#stored = this.#storeAll();
    return this.#stored;
  }

  async #storeAll(): Promise<void> {
    this.#isStoring = true;
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      try {
        const [only] = group;
        const together =
          group.length === 1 && only ? only.events : group.flatMap(({ events }) => events);
        const storing = this.#store(together);
        // A stored group is answered at once.
        hand(group, storing instanceof Promise ? await storing : storing);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#isStoring = false;
  }

  #takeGroup(): Waiting[] {
    let size = 0;
    const end = this.#waiting.findIndex(({ events }) => {
      const isFull = size >= this.#eventsMax;
      size += events.length;
      return isFull;
    });
    return this.#waiting.splice(0, end === -1 ? Infinity : end);
  }
}

/** Gives each push the ids of its own events. */
function hand(group: readonly Waiting[], ids: readonly number[]): void {
  let done = 0;
  for (const { events, resolve } of group) {
    resolve(ids.slice(done, done + events.length));
    done += events.length;
  }
}

/** The shortest time between two dispatches, so that many pushes cost few looks at the consumers. */
const EVERY_MS = 20;

/**
 * Dispatches soon after it is asked, never twice at once, and once more when it was asked meanwhile: a dispatch always
 * sees what was pushed before the last ask.
 */
export class WakeUp {
  readonly #dispatch: () => Promise<unknown>;
  readonly #failed: (error: unknown) => void;
  #asked = false;
  #running: Promise<void> | undefined;

  constructor(dispatch: () => Promise<unknown>, failed: (error: unknown) => void) {
    this.#dispatch = dispatch;
    this.#failed = failed;
  }

  ask(): void {
    this.#asked = true;
    this.#running ??= this.#run();
  }

  /** Resolves when every requested dispatch is done. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#asked) {
      await new Promise((resolve) => {
        setTimeout(resolve, EVERY_MS);
      });
      this.#asked = false;
      try {
        await this.#dispatch();
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#running = undefined;
  }
}
