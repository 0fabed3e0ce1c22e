/** The layers that have ever changed: of the many that a draft has, most groups touch a few. */
export type UsedLayers = Pick<Layer<unknown, unknown>, 'keep' | 'undo'>[];

/** A map whose last changes can be taken back. */
export class Layer<K, V> {
  readonly #used: UsedLayers;
  /** Made with the first change. */
  #map: Map<K, V> | undefined;
  /**
   * What stood under a key before each change since `keep`, oldest first: the first `#changes` of each. The
   * lists are used again rather than emptied, which would give their memory back after every batch.
   */
  readonly #keys: K[] = [];
  readonly #values: (V | undefined)[] = [];
  #changes = 0;

  /** Joins `used` with its first change. */
  constructor(used: UsedLayers) {
    this.#used = used;
  }

  get(key: K): V | undefined {
    return this.#map?.get(key);
  }

  set(key: K, value: V): void {
    this.#map ??= this.#begin();
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

  #begin(): Map<K, V> {
    this.#used.push(this);
    return new Map();
  }
}
