import { Bell } from '../../base/bell.ts';
import type { ContextId } from '../../base/brand.ts';
import type { Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { streamDoc } from '../../stream/stream-record.ts';

/** A bell that rings whenever a stream may have changed, until it is disposed of. */
export interface StreamBell extends Disposable {
  readonly bell: Bell;
}

/** Wakes the readers of streams. All of them share one subscription, which is there while anybody waits. */
export class StreamBells {
  readonly #engine: Engine;
  /** By the stream's document and by its context. */
  readonly #bells = new Map<string | ContextId, Set<Bell>>();
  #stop: (() => void) | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Read the stream again after this: what happened before does not ring. */
  listen(name: string, context: ContextId): StreamBell {
    const bell = new Bell();
    const keys = [streamDoc(name), context];
    for (const key of keys) {
      const bells = this.#bells.get(key);
      if (bells === undefined) this.#bells.set(key, new Set([bell]));
      else bells.add(bell);
    }
    this.#stop ??= this.#engine.subscribe(
      (change) => this.#hear(change),
      () => this.#ring(this.#bells.keys()),
    );
    return { bell, [Symbol.dispose]: () => this.#leave(keys, bell) };
  }

  #leave(keys: readonly (string | ContextId)[], bell: Bell): void {
    for (const key of keys) {
      const bells = this.#bells.get(key);
      bells?.delete(bell);
      if (bells?.size === 0) this.#bells.delete(key);
    }
    if (this.#bells.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  #hear({ heads, removedContexts, docs, removedDocs }: Change): void {
    this.#ring(heads.map(({ id }) => id));
    this.#ring(removedContexts);
    this.#ring(docs.map(({ name }) => name));
    this.#ring(removedDocs);
  }

  #ring(keys: Iterable<string | ContextId>): void {
    for (const key of keys) for (const bell of this.#bells.get(key) ?? []) bell.ring();
  }
}
