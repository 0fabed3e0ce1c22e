/** A map whose last changes can be taken back. */
export class Layer<K, V> {
  /** Made on first use: most groups touch a few of the many layers. */
  #map: Map<K, V> | undefined;
  /**
   * What stood under a key before each change since `keep`, oldest first: the first `#changes` of each. The
   * lists are used again rather than emptied, which would give their memory back after every batch.
   */
  readonly #keys: K[] = [];
  readonly #values: (V | undefined)[] = [];
  #changes = 0;

  get(key: K): V | undefined {
    return this.#map?.get(key);
  }

  set(key: K, value: V): void {
    this.#map ??= new Map();
    this.#keys[this.#changes] = key;
    this.#values[this.#changes] = this.#map.get(key);
    this.#changes += 1;
    this.#map.set(key, value);
  }

  /** All of it, in the order of the first `set` of each key. */
  entries(): Iterable<[K, V]> {
    return this.#map ?? [];
  }

  keep(): void {
    this.#changes = 0;
  }

  /** As it was at the last `keep`. */
  undo(): void {
    for (; this.#changes > 0; this.#changes -= 1) {
      const key = this.#keys[this.#changes - 1] as K;
      const value = this.#values[this.#changes - 1];
      if (value === undefined) this.#map?.delete(key);
      else this.#map?.set(key, value);
    }
  }
}
