/** Keeps the end of a command's output: the last words of a command that fails say why. */
export class OutputTail {
  readonly #limit: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #omitted = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  push(piece: Buffer): void {
    // This copies the part to keep: a small slice would hold on to the whole buffer it was cut from.
    const kept = Buffer.from(piece.subarray(Math.max(0, piece.length - this.#limit)));
    this.#omitted += piece.length - kept.length;
    this.#pieces.push(kept);
    this.#bytes += kept.length;
    // Joining at twice the limit moves each byte once or twice, however small the pieces are.
    if (this.#bytes > 2 * this.#limit || this.#pieces.length > 1024) this.#shorten();
  }

  /** Bytes that were left out before the end. */
  get omittedBytes(): number {
    this.#shorten();
    return this.#omitted;
  }

  /** The output as text. Bytes that are not UTF-8 become replacement characters. */
  get text(): string {
    this.#shorten();
    return Buffer.concat(this.#pieces).toString('utf8');
  }

  #shorten(): void {
    const all = Buffer.concat(this.#pieces);
    const kept = Buffer.from(all.subarray(Math.max(0, all.length - this.#limit)));
    this.#omitted += all.length - kept.length;
    this.#pieces = [kept];
    this.#bytes = kept.length;
  }
}
