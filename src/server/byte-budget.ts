/** Of one server, unless it was told. */
export const TOTAL_BYTES: number = 512 * 1024 * 1024;

/** Bytes that all connections of a server hold together, whatever they speak: what they sent, and what waits for them. */
export class ByteBudget {
  readonly #most: number;
  #held = 0;

  constructor(most: number = TOTAL_BYTES) {
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
