/** The budget of one server, unless the server was given another. */
export const TOTAL_BYTES: number = 512 * 1024 * 1024;

/**
 * Counts the bytes that all connections of a server hold together, in both protocols: bytes they sent, and bytes that
 * wait for them.
 */
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
