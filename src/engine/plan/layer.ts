/** The layers that have ever changed. A draft has many layers, and most groups touch only a few. */
export type UsedLayers = Pick<Layer<unknown, unknown>, 'keep' | 'undo'>[];

/** A map whose last changes can be undone. */
export class Layer<K, V> {
  readonly #used: UsedLayers;
  /** The map is made at the first change. */
  #map: Map<K, V> | undefined;
  /**
   * The undo list: the key of each change since `keep` and the value before it, oldest first. Only the first
   * `#changes` entries count. The lists are reused: emptying them would free their memory after every batch.
   */
  readonly #keys: K[] = [];
  readonly #values: (V | undefined)[] = [];
  #changes = 0;

  /** The layer joins `used` at its first change. */
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

  /** All entries, in the order of the first `set` of each key. */
  entries(): Iterable<[K, V]> {
    return this.#map ?? [];
  }

  keep(): void {
    this.#changes = 0;
  }

  /** Restores the state of the last `keep`. */
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
