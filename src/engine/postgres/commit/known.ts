import { NotInMemory } from '../../plan/draft.ts';

/** The known state of some rows: present with a value, absent, or never asked for. */
export class Known<K, V> {
  readonly #values: Map<K, V | undefined> = new Map();
  readonly #read: (keys: readonly K[]) => Promise<Iterable<readonly [K, V]>>;

  readonly #isPossible: (key: K) => boolean;

  /** An impossible key counts as absent and is never sent: the database would refuse the statement. */
  constructor(
    read: (keys: readonly K[]) => Promise<Iterable<readonly [K, V]>>,
    isPossible: (key: K) => boolean = () => true,
  ) {
    this.#read = read;
    this.#isPossible = isPossible;
  }

  /** Reads those of `keys` that were not read before, all at once. */
  async load(keys: Iterable<K>): Promise<void> {
    const wanted = [...new Set(keys)].filter((key) => !this.#values.has(key));
    if (wanted.length === 0) return;
    const possible = wanted.filter(this.#isPossible);
    this.learn(wanted, possible.length === 0 ? [] : await this.#read(possible));
  }

  /** Records an answer: the keys of `asked` that are not in `found` are absent. */
  learn(asked: Iterable<K>, found: Iterable<readonly [K, V]>): void {
    for (const key of asked) if (!this.#values.has(key)) this.#values.set(key, undefined);
    for (const [key, value] of found) this.#values.set(key, value);
  }

  async get(key: K): Promise<V | undefined> {
    await this.load([key]);
    return this.#values.get(key);
  }

  /** Undefined also when the key was never asked for. */
  peek(key: K): V | undefined {
    return this.#values.get(key);
  }

  /** A plan that needs a value before it was read is made again once the value is there. */
  need(key: K): V | undefined {
    if (this.#values.has(key)) return this.#values.get(key);
    throw new NotInMemory(() => this.load([key]));
  }
}
