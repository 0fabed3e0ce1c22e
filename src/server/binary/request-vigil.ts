import { Vigil, type VigilOptions } from '../../base/vigil.ts';

/** A client that sends one request after the other has the next one ready within this time. */
const REQUEST_MS = 1;
/** A connection is alone when no other one asked for anything for so long. */
const ALONE_MS = 10;

/** Stays awake for the next request of a connection that is alone and has all its replies. */
export class RequestVigil {
  readonly #vigil: Vigil;
  readonly #now: () => number;
  /** Who asked last, by session id. */
  #speaker: bigint | undefined;
  #speaksSince = 0;

  constructor(options: VigilOptions = {}) {
    this.#vigil = new Vigil(REQUEST_MS, options);
    this.#now = options.now ?? performance.now.bind(performance);
  }

  asked(session: bigint): void {
    if (session === this.#speaker) {
      this.#vigil.end();
      return;
    }
    this.#vigil.giveUp();
    this.#speaker = session;
    this.#speaksSince = this.#now();
  }

  /** A reply leaves. True when the session has no more coming and its next request is waited for awake. */
  answered(session: bigint, left: number): boolean {
    return left === 0 && this.isAlone(session) && this.#vigil.begin();
  }

  isAlone(session: bigint): boolean {
    return session === this.#speaker && this.#now() - this.#speaksSince > ALONE_MS;
  }
}
