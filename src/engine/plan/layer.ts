/** A map whose last changes can be taken back. */
export class Layer<K, V> {
  /** Made on first use: most groups touch a few of the many layers. */
  #map: Map<K, V> | undefined;
  /** What stood under a key before each change since `keep`, oldest first. */
  readonly #before: { readonly key: K; readonly value: V | undefined }[] = [];

  get(key: K): V | undefined {
    return this.#map?.get(key);
  }

  set(key: K, value: V): void {
    this.#map ??= new Map();
    this.#before.push({ key, value: this.#map.get(key) });
    this.#map.set(key, value);
  }

  /** All of it, in the order of the first `set` of each key. */
  entries(): Iterable<[K, V]> {
    return this.#map ?? [];
  }

  keep(): void {
    this.#before.length = 0;
  }

  /** As it was at the last `keep`. */
  undo(): void {
    for (const { key, value } of this.#before.reverse()) {
      if (value === undefined) this.#map?.delete(key);
      else this.#map?.set(key, value);
    }
    this.#before.length = 0;
  }
}
