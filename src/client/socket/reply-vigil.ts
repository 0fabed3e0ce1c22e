import { Vigil, type VigilOptions } from '../../base/vigil.ts';

/** Above what a server with a fast disk takes for an append; with others the process sleeps as ever. */
const REPLY_MS = 1.5;

/**
 * Stays awake for the reply to a request that is the only one, of this process and at its server. With more of
 * them there is something to do until the replies come, and the processor is better left to the others: two
 * processes that both stayed awake, on two processors with their server, got a quarter less done.
 */
export class ReplyVigil {
  readonly #vigil: Vigil;
  #awaited = 0;

  constructor(options?: VigilOptions) {
    this.#vigil = new Vigil(REPLY_MS, options);
  }

  /**
   * `alone`: the server said that nobody else asks for anything. True when the request is the only one and its
   * reply is waited for awake.
   */
  sent(alone: boolean): boolean {
    this.#awaited += 1;
    if (this.#awaited === 1 && alone) return this.#vigil.begin();
    this.#vigil.giveUp();
    return false;
  }

  /** A reply came. */
  answered(): void {
    this.#awaited -= 1;
    this.#vigil.end();
  }

  /** So many requests will get no reply. */
  lost(count: number): void {
    this.#awaited -= count;
    this.#vigil.giveUp();
  }
}

/** One for all connections, since there is one event loop. */
export const replyVigil: ReplyVigil = new ReplyVigil();
