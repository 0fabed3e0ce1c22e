import { timedOut, unavailable } from '../transport.ts';
import type { OutgoingMessage } from './outgoing-message.ts';

interface CallFacts {
  readonly method: string;
  readonly message: OutgoingMessage;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Called when the call is over, however it ended. */
  readonly over: (call: PendingCall) => void;
}

/**
 * A call from its start until its caller knows the outcome. It is one object, because the closures and promises for an
 * answer, a deadline and an abort took longer than encoding the request.
 */
export class PendingCall implements Waiter, Deadline {
  /** The time by which the call must be over, once it is sent. */
  at: number = Infinity;
  readonly #facts: CallFacts;
  #onAbort: (() => void) | undefined;
  #isOver = false;

  constructor(facts: CallFacts) {
    this.#facts = facts;
  }

  get message(): OutgoingMessage {
    return this.#facts.message;
  }

  get timeoutMs(): number {
    return this.#facts.timeoutMs;
  }

  /** The call is about to be sent: its time begins, and its caller may still give it up. */
  begin(): void {
    const { signal, timeoutMs } = this.#facts;
    signal?.throwIfAborted();
    this.at = performance.now() + timeoutMs;
    if (signal === undefined) return;
    this.#onAbort = () => this.fail(signal.reason);
    signal.addEventListener('abort', this.#onAbort);
  }

  answer(payload: Buffer): void {
    if (!this.#end()) return;
    const { message, resolve, reject } = this.#facts;
    try {
      resolve(message.read(payload));
    } catch (error) {
      reject(error);
    }
  }

  fail(error: unknown): void {
    if (this.#end()) this.#facts.reject(error);
  }

  passed(): void {
    const { method, timeoutMs } = this.#facts;
    this.fail(timedOut(method, timeoutMs, true));
  }

  /** False when the call was over before. */
  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    const { signal, over } = this.#facts;
    if (this.#onAbort !== undefined) signal?.removeEventListener('abort', this.#onAbort);
    over(this);
    return true;
  }
}

/** Waits for the reply to a request. One of the two methods is called, once. */
export interface Waiter {
  /** Takes the payload of the reply. */
  answer(payload: Buffer): void;
  fail(error: unknown): void;
}

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

/** Limits the requests in progress on a connection, and their bytes; other requests wait in line. */
export class RequestSlots {
  readonly #most: { readonly requests: number; readonly bytes: number };
  readonly #line: (() => void)[] = [];
  #requests = 0;
  #bytes = 0;

  constructor(most: { readonly requests: number; readonly bytes: number }) {
    this.#most = most;
  }

  /** Undefined when there is room now. Trusts the caller to `leave` with the same bytes. */
  enter(bytes: number): Promise<void> | undefined {
    if (this.#line.length === 0 && this.#hasRoom(bytes)) {
      this.#add(bytes);
      return undefined;
    }
    return new Promise((resolve) => {
      this.#line.push(() => {
        this.#add(bytes);
        resolve();
      });
    });
  }

  leave(bytes: number): void {
    this.#requests -= 1;
    this.#bytes -= bytes;
    // The next request may be large, and is admitted as soon as there is any room at all.
    while (this.#line.length > 0 && this.#hasRoom(0)) this.#line.shift()?.();
  }

  /** A single request always fits. */
  #hasRoom(bytes: number): boolean {
    if (this.#requests === 0) return true;
    return this.#requests < this.#most.requests && this.#bytes + bytes <= this.#most.bytes;
  }

  #add(bytes: number): void {
    this.#requests += 1;
    this.#bytes += bytes;
  }
}

const ITEMS_MAX = 10_000;
const BYTES_MAX = 16_777_216;

interface Waiting {
  readonly value: unknown;
  readonly bytes: number;
}

/**
 * Items that the server pushed and nobody has taken yet, up to a limit. A reader that falls behind the limit is cut
 * off. If the socket were stopped instead, every other answer on it would wait, perhaps for that very reader.
 */
export class PushedItems {
  #waiting: Waiting[] = [];
  #bytes = 0;
  #ending: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  get isOver(): boolean {
    return this.#ending !== undefined;
  }

  /** False when the reader is too slow; the items then have an end. */
  push(value: unknown, bytes: number): boolean {
    if (this.#ending !== undefined) return true;
    this.#waiting.push({ value, bytes });
    this.#bytes += bytes;
    const isTooMuch = this.#waiting.length > 1 && this.#bytes > BYTES_MAX;
    if (isTooMuch || this.#waiting.length > ITEMS_MAX) {
      this.#waiting = [];
      this.end(unavailable('the stream came faster than it was read'));
      return false;
    }
    this.#wake?.();
    return true;
  }

  /** Undefined means a normal end. Earlier items can still be taken. */
  end(error?: Error): void {
    this.#ending ??= { error };
    this.#wake?.();
  }

  /** The next item; done at a normal end. Throws after a failure. */
  async next(): Promise<{ readonly done: boolean; readonly value?: unknown }> {
    for (;;) {
      const [first] = this.#waiting;
      if (first !== undefined) {
        this.#waiting.shift();
        this.#bytes -= first.bytes;
        return { done: false, value: first.value };
      }
      if (this.#ending !== undefined) {
        if (this.#ending.error === undefined) return { done: true };
        throw this.#ending.error;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}
