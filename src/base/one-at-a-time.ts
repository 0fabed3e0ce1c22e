/** Runs tasks with the same key one after the other, whether or not the one before failed. */
export class OneAtATime<K> {
  readonly #tails = new Map<K, Promise<unknown>>();

  async run<T>(key: K, task: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key);
    const mine = (async () => {
      await before?.catch(() => undefined);
      return task();
    })();
    this.#tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key);
    }
  }
}
