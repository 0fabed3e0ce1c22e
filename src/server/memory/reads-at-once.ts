/** Bytes of replies that the reads of one connection may build at the same time. */
const BUILDING_BYTES = 16 * 1024 * 1024;
const READS_MAX = 16;

/**
 * The number of reads of one connection that may run at a time. Nobody knows the size of a reply before it is read, so
 * this follows the last ones: many while they are small, one by one when they are huge.
 */
export class ReadsAtOnce {
  readonly #most: number;
  #typicalBytes = BUILDING_BYTES;

  constructor(most: number = READS_MAX) {
    this.#most = most;
  }

  get count(): number {
    const fitting = Math.floor(BUILDING_BYTES / Math.max(1, this.#typicalBytes));
    return Math.max(1, Math.min(this.#most, fitting));
  }

  /** The size of the last replies. Before the first one it is as large as replies may be together. */
  get typicalBytes(): number {
    return this.#typicalBytes;
  }

  /** A large reply counts at once, and is forgotten little by little. */
  note(replyBytes: number): void {
    this.#typicalBytes = Math.max(replyBytes, this.#typicalBytes / 2);
  }
}
