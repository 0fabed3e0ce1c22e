import type { Change } from './batch.ts';

/** The listeners that hear of every commit. */
export class ChangeListeners {
  readonly #listeners: Set<(change: Change) => void> = new Set();

  get some(): boolean {
    return this.#listeners.size > 0;
  }

  /** Call the result to stop listening. One function may listen several times. */
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
        // A listener that throws must not stop the commits behind it. Its error stays with the listener.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
