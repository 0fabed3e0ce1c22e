/** Bytes that all connections of a server hold together. */
export class ByteBudget {
  readonly #most: number;
  #held = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get isSpent(): boolean {
    return this.#held >= this.#most;
  }

  get held(): number {
    return this.#held;
  }

  add(bytes: number): void {
    this.#held += bytes;
  }
}
