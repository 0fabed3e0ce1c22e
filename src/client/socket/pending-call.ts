import type { Deadline } from './deadlines.ts';
import { timedOut } from '../outcome.ts';
import type { OutgoingMessage } from './outgoing-message.ts';

export interface CallFacts {
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
  readonly message: OutgoingMessage;
  readonly timeoutMs: number;
  /** The time by which the call must be over, once it is sent. */
  at: number = Infinity;
  readonly #method: string;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: CallFacts['resolve'];
  readonly #reject: CallFacts['reject'];
  readonly #over: CallFacts['over'];
  #onAbort: (() => void) | undefined;
  #isOver = false;

  constructor(facts: CallFacts) {
    this.message = facts.message;
    this.timeoutMs = facts.timeoutMs;
    this.#method = facts.method;
    this.#signal = facts.signal;
    this.#resolve = facts.resolve;
    this.#reject = facts.reject;
    this.#over = facts.over;
  }

  /** The call is about to be sent: its time begins, and its caller may still give it up. */
  begin(): void {
    const signal = this.#signal;
    signal?.throwIfAborted();
    this.at = performance.now() + this.timeoutMs;
    if (signal === undefined) return;
    this.#onAbort = () => this.fail(signal.reason);
    signal.addEventListener('abort', this.#onAbort);
  }

  answer(payload: Buffer): void {
    if (!this.#end()) return;
    try {
      this.#resolve(this.message.read(payload));
    } catch (error) {
      this.#reject(error);
    }
  }

  fail(error: unknown): void {
    if (this.#end()) this.#reject(error);
  }

  passed(): void {
    this.fail(timedOut(this.#method, this.timeoutMs, true));
  }

  /** False when the call was over before. */
  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    if (this.#onAbort !== undefined) this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#over(this);
    return true;
  }
}

/** Waits for the reply to a request. One of the two methods is called, once. */
export interface Waiter {
  /** Takes the payload of the reply. */
  answer(payload: Buffer): void;
  fail(error: unknown): void;
}
