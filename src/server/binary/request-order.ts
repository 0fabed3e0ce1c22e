// When the requests of one connection begin. They run side by side as far as nobody can tell.
// Invariants
// - Writes begin in the order in which they were sent. A barrier begins when every write before it has
//   ended, and no later write begins before the barrier has ended.
// - A read begins when every write sent before it has ended. It may see writes that were sent after it.
// - At most `readsAtOnce()` reads and `WRITES_AT_ONCE` writes run at a time.

export type Order =
  /** Touches nothing that others see. */
  | 'free'
  | 'read'
  /** Takes its place among the writes of the store when it begins. */
  | 'write'
  /** A write that takes its place some time after it began. */
  | 'barrier';

/** Enough to fill a group commit, and little enough that others do not wait long for one client. */
export const WRITES_AT_ONCE = 256;

interface Waiting {
  readonly seq: number;
  readonly order: Order;
  readonly begin: () => Promise<void>;
}

interface Write {
  readonly seq: number;
  ended: boolean;
}

export class RequestOrder {
  readonly #readsAtOnce: () => number;
  /** By rising number; the first one begins first. */
  readonly #waiting: Waiting[] = [];
  #waitingWrites = 0;
  /** By rising number from the oldest write under way on; later ones may have ended already. */
  readonly #writes: Write[] = [];
  #writing = 0;
  #barrier = false;
  #reads = 0;
  #seq = 0;
  #stopped = false;

  constructor(readsAtOnce: () => number) {
    this.#readsAtOnce = readsAtOnce;
  }

  /** `begin` never rejects. It may be called at once. */
  add(order: Order, begin: () => Promise<void>): void {
    if (this.#stopped) return;
    this.#seq += 1;
    const request = { seq: this.#seq, order, begin };
    // A write may pass reads that wait: they wait for writes before them, not for this one.
    const isNext = isWrite(order) ? this.#waitingWrites === 0 : this.#waiting.length === 0;
    if (order === 'free' || (isNext && this.#mayBegin(request))) {
      this.#begin(request);
      return;
    }
    this.#waiting.push(request);
    if (isWrite(order)) this.#waitingWrites += 1;
  }

  /** Begins what can begin now. To be called when `readsAtOnce` may have grown. */
  advance(): void {
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || !this.#mayBegin(next)) return;
      this.#waiting.shift();
      if (isWrite(next.order)) this.#waitingWrites -= 1;
      this.#begin(next);
    }
  }

  /** Nothing begins any more. What is under way goes on. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.length = 0;
    this.#waitingWrites = 0;
  }

  /** Given that nothing that waits is in its way. */
  #mayBegin({ seq, order }: Waiting): boolean {
    if (order === 'write') return !this.#barrier && this.#writing < WRITES_AT_ONCE;
    if (order === 'barrier') return this.#writing === 0;
    const [oldest] = this.#writes;
    return (oldest === undefined || oldest.seq > seq) && this.#reads < this.#readsAtOnce();
  }

  #begin({ seq, order, begin }: Waiting): void {
    if (order === 'free') void begin();
    else if (order === 'read') {
      this.#reads += 1;
      void begin().then(this.#endRead);
    } else {
      const write = { seq, ended: false };
      this.#writes.push(write);
      this.#writing += 1;
      if (order === 'barrier') this.#barrier = true;
      void begin().then(() => this.#endWrite(write));
    }
  }

  readonly #endRead = (): void => {
    this.#reads -= 1;
    this.advance();
  };

  #endWrite(write: Write): void {
    write.ended = true;
    this.#writing -= 1;
    // A barrier is alone while it is under way.
    this.#barrier = false;
    while (this.#writes[0]?.ended === true) this.#writes.shift();
    this.advance();
  }
}

function isWrite(order: Order): boolean {
  return order === 'write' || order === 'barrier';
}
