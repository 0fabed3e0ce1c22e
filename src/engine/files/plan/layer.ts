/** A map over another one: reads fall through, writes stay here until they are absorbed. */
export class Layer<K, V> {
  readonly #parent: Layer<K, V> | undefined;
  #own: Map<K, V> | undefined;

  constructor(parent?: Layer<K, V>) {
    this.#parent = parent;
  }

  get(key: K): V | undefined {
    return this.#own?.get(key) ?? this.#parent?.get(key);
  }

  set(key: K, value: V): void {
    // Made on first use: most batches touch two or three of the eight layers.
    this.#own ??= new Map();
    this.#own.set(key, value);
  }

  /** What was set here, in the order of the first `set` of each key. */
  own(): Iterable<[K, V]> {
    return this.#own ?? [];
  }

  absorb(child: Layer<K, V>): void {
    for (const [key, value] of child.own()) this.set(key, value);
  }
}
