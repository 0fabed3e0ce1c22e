/** A set of whole numbers, one bit each, up to the largest one in it. */
export class BitSet {
  #words: Uint32Array = new Uint32Array(1024);

  has(number: number): boolean {
    return ((this.#words[number >>> 5] ?? 0) & (1 << (number & 31))) !== 0;
  }

  /** False when the number was there before. */
  add(number: number): boolean {
    const word = number >>> 5;
    if (word >= this.#words.length) this.#grow(word + 1);
    const before = this.#words[word] ?? 0;
    this.#words[word] = before | (1 << (number & 31));
    return this.#words[word] !== before;
  }

  #grow(least: number): void {
    const words = new Uint32Array(Math.max(least, Math.ceil(this.#words.length * 1.5)));
    words.set(this.#words);
    this.#words = words;
  }
}
