import { NotInMemory } from '../../plan/draft.ts';

/** What is known of some rows: there with a value, not there, or never asked for. */
export class Known<K, V> {
  readonly #values: Map<K, V | undefined> = new Map();
  readonly #read: (keys: readonly K[]) => Promise<Iterable<readonly [K, V]>>;

  readonly #isPossible: (key: K) => boolean;

  /** What is not possible is not there, and never asked for: the database would refuse the question. */
  constructor(
    read: (keys: readonly K[]) => Promise<Iterable<readonly [K, V]>>,
    isPossible: (key: K) => boolean = () => true,
  ) {
    this.#read = read;
    this.#isPossible = isPossible;
  }

  /** Asks for those of `keys` that were not asked for before, all at once. */
  async load(keys: Iterable<K>): Promise<void> {
    const wanted = [...new Set(keys)].filter((key) => !this.#values.has(key));
    if (wanted.length === 0) return;
    const possible = wanted.filter(this.#isPossible);
    this.learn(wanted, possible.length === 0 ? [] : await this.#read(possible));
  }

  /** Takes note of an answer: of `asked`, those that are not in `found` are not there. */
  learn(asked: Iterable<K>, found: Iterable<readonly [K, V]>): void {
    for (const key of asked) if (!this.#values.has(key)) this.#values.set(key, undefined);
    for (const [key, value] of found) this.#values.set(key, value);
  }

  async get(key: K): Promise<V | undefined> {
    await this.load([key]);
    return this.#values.get(key);
  }

  /** Undefined also when nobody asked for it yet. */
  peek(key: K): V | undefined {
    return this.#values.get(key);
  }

  /** A plan that needs it before anybody asked is made again once it is there. */
  need(key: K): V | undefined {
    if (this.#values.has(key)) return this.#values.get(key);
    throw new NotInMemory(() => this.load([key]));
  }
}
