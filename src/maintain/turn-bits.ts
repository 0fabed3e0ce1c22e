/** A set of turn numbers, one bit each. */
export class TurnBits {
  #words: Uint32Array = new Uint32Array(1024);

  has(turn: number): boolean {
    return ((this.#words[turn >>> 5] ?? 0) & (1 << (turn & 31))) !== 0;
  }

  add(turn: number): void {
    const word = turn >>> 5;
    if (word >= this.#words.length) this.#grow(word + 1);
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (turn & 31));
  }

  #grow(least: number): void {
    const words = new Uint32Array(Math.max(least, Math.ceil(this.#words.length * 1.5)));
    words.set(this.#words);
    this.#words = words;
  }
}
