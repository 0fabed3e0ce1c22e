import type { Change } from './batch.ts';

/** Those who hear of every commit. */
export class ChangeListeners {
  readonly #listeners: Set<(change: Change) => void> = new Set();

  get some(): boolean {
    return this.#listeners.size > 0;
  }

  /** The result ends it. One function may listen several times. */
  add(listener: (change: Change) => void): () => void {
    const own = (change: Change): void => listener(change);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  clear(): void {
    this.#listeners.clear();
  }

  tell(change: Change): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // One that throws must not stop the commits behind it: its error is nobody's but its own.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
