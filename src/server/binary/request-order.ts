import type { Order } from '../request/request.ts';

// Decides when the requests of one connection begin. Requests run side by side as far as no client can tell.
// Invariants
// - Writes begin in the order in which they were sent. A barrier begins when every write before it has ended, and no
//   later write begins before the barrier has ended.
// - A read begins when every write sent before it has ended. A read may see writes that were sent after it.
// - At most `readsAtOnce()` reads and `WRITES_AT_ONCE` writes run at a time.

/** Enough to fill a group commit, and few enough that others do not wait long for one client. */
export const WRITES_AT_ONCE = 256;

/** One request, and its place among the others. Both are one object, because every request has a place. */
export class Ordered {
  readonly order: Order;
  /** The place of the request, set when it is added. */
  seq = 0;
  ended = false;

  constructor(order: Order) {
    this.order = order;
  }
}

export class RequestOrder<T extends Ordered> {
  readonly #begin: (request: T) => void;
  readonly #readsAtOnce: () => number;
  /** Requests that wait, by rising number; the first one begins first. */
  readonly #waiting: T[] = [];
  #waitingWrites = 0;
  /** Writes by rising number, from the oldest one in progress on. Later ones may have ended already. */
  readonly #writes: T[] = [];
  #writing = 0;
  #barrier = false;
  #reads = 0;
  #seq = 0;
  #stopped = false;

  /** `begin` never throws. Each request that it starts must be reported to `end`. */
  constructor(begin: (request: T) => void, readsAtOnce: () => number) {
    this.#begin = begin;
    this.#readsAtOnce = readsAtOnce;
  }

  /** Adds a request, which may begin at once. */
  add(request: T): void {
    if (this.#stopped) return;
    this.#seq += 1;
    request.seq = this.#seq;
    const { order } = request;
    // A write may pass waiting reads: they wait for the writes before them, not for this one.
    const isNext = isWrite(order) ? this.#waitingWrites === 0 : this.#waiting.length === 0;
    if (order === 'free' || (isNext && this.#mayBegin(request))) {
      this.#start(request);
      return;
    }
    this.#waiting.push(request);
    if (isWrite(order)) this.#waitingWrites += 1;
  }

  /** Must be called once for each request that has begun, when it is over. */
  end(request: T): void {
    const { order } = request;
    if (order === 'free') return;
    if (order === 'read') this.#reads -= 1;
    else {
      request.ended = true;
      this.#writing -= 1;
      // A barrier runs alone.
      this.#barrier = false;
      while (this.#writes[0]?.ended === true) this.#writes.shift();
    }
    this.advance();
  }

  /** Begins the requests that can begin now. Call this when `readsAtOnce` may have grown. */
  advance(): void {
    for (;;) {
      const next = this.#waiting[0];
      if (next === undefined || !this.#mayBegin(next)) return;
      this.#waiting.shift();
      if (isWrite(next.order)) this.#waitingWrites -= 1;
      this.#start(next);
    }
  }

  /** Lets no further request begin. Requests in progress go on. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.length = 0;
    this.#waitingWrites = 0;
  }

  /** True when the request may begin, provided that no waiting request is in its way. */
  #mayBegin({ seq, order }: T): boolean {
    if (order === 'write') return !this.#barrier && this.#writing < WRITES_AT_ONCE;
    if (order === 'barrier') return this.#writing === 0;
    const oldest = this.#writes[0];
    return (oldest === undefined || oldest.seq > seq) && this.#reads < this.#readsAtOnce();
  }

  #start(request: T): void {
    const { order } = request;
    if (order === 'read') this.#reads += 1;
    else if (order !== 'free') {
      this.#writes.push(request);
      this.#writing += 1;
      if (order === 'barrier') this.#barrier = true;
    }
    this.#begin(request);
  }
}

function isWrite(order: Order): boolean {
  return order === 'write' || order === 'barrier';
}
