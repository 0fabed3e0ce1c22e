import { Bell } from '../base/bell.ts';
import type { Lifetime } from '../base/lifetime.ts';
import type { Change } from './batch.ts';
import type { Engine } from './engine.ts';

export interface Hearing {
  /** Takes note of a commit, and returns true if the reader is to look. */
  readonly hear: (change: Change) => boolean;
  /** Called when commits were made that nobody heard of. The reader looks then in any case. */
  readonly miss?: () => void;
  /** Ends the reading. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Wakes a reader that reads instead of queueing: when a commit concerns it, when the store closes, and when its caller
 * aborts. Listening begins with the constructor, before the first look, so nothing falls between the two.
 */
export class ChangeBell implements Disposable {
  readonly #bell = new Bell();
  readonly #lifetime: Lifetime;
  readonly #signal: AbortSignal | undefined;
  readonly #stops: (() => void)[];

  constructor(
    { engine, lifetime }: { readonly engine: Engine; readonly lifetime: Lifetime },
    { hear, miss, signal }: Hearing,
  ) {
    const ring = (): void => this.#bell.ring();
    this.#lifetime = lifetime;
    this.#signal = signal;
    this.#stops = [
      engine.subscribe(
        (change) => {
          if (hear(change)) ring();
        },
        () => {
          miss?.();
          ring();
        },
      ),
      lifetime.onClose(ring),
      () => signal?.removeEventListener('abort', ring),
    ];
    signal?.addEventListener('abort', ring);
  }

  /** True when the store is closed, or the caller has aborted. */
  get isOver(): boolean {
    return this.#lifetime.closed || this.#signal?.aborted === true;
  }

  /** Resolves when there may be something to read, or when the reading is over. */
  wait(): Promise<void> {
    return this.#bell.wait();
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
  }
}
