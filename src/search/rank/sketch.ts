// A sketch says how often words occur in a document: two bytes for each word that occurs more than once. It is small
// enough to be kept. Ranking looks at the counts of thousands of documents, whose texts it could not read.
//
// 12 bits of a hash of the token, then 4 bits: how often it occurs, less two, at most 15. The words that occur most
// often are kept where there are too many. Two words with the same hash make a rank slightly wrong and nothing else.

const ENTRIES_MAX = 24;
const COUNT_MAX = 17;

/**
 * Makes sketches. Tokens are counted by their hash, in a table that every document uses again: a third of the time of a
 * Map. A short document uses the beginning of the table, which stays in the fastest cache of the processor.
 */
export class Sketcher {
  #hashes = new Int32Array();
  #counts = new Int32Array();
  /** The slots in use, in the order of the first occurrence. */
  #slots = new Int32Array();
  #used = 0;
  #mask = 0;

  /** Empties the table, and makes it at least twice as large as what it will hold. */
  begin(tokens: number): void {
    for (let nth = 0; nth < this.#used; nth += 1) this.#counts[this.#slots[nth] ?? 0] = 0;
    this.#used = 0;
    const size = 2 ** Math.ceil(Math.log2(Math.max(1, tokens) * 2));
    this.#mask = size - 1;
    if (size <= this.#counts.length) return;
    this.#hashes = new Int32Array(size);
    this.#counts = new Int32Array(size);
    this.#slots = new Int32Array(size);
  }

  add(hash: number): void {
    const [hashes, counts] = [this.#hashes, this.#counts];
    let slot = (hash ^ (hash >>> 15)) & this.#mask;
    while (counts[slot] !== 0 && hashes[slot] !== hash) slot = (slot + 1) & this.#mask;
    if (counts[slot] === 0) {
      hashes[slot] = hash;
      this.#slots[this.#used] = slot;
      this.#used += 1;
    }
    counts[slot] = (counts[slot] ?? 0) + 1;
  }

  /** Counts the most common token. */
  most(): number {
    let most = 0;
    for (let nth = 0; nth < this.#used; nth += 1) {
      most = Math.max(most, this.#counts[this.#slots[nth] ?? 0] ?? 0);
    }
    return most;
  }

  finish(): Uint8Array {
    const often = this.#repeated();
    if (often.length > ENTRIES_MAX) {
      often.sort((a, b) => b.count - a.count || a.hash - b.hash);
      often.length = ENTRIES_MAX;
    }
    const sketch = new Uint8Array(often.length * 2);
    for (const [at, { hash, count }] of often.entries()) {
      const entry = (fold12(hash) << 4) | (Math.min(count, COUNT_MAX) - 2);
      sketch[at * 2] = entry & 0xff;
      sketch[at * 2 + 1] = entry >> 8;
    }
    return sketch;
  }

  /** Returns the tokens that occur more than once. */
  #repeated(): { readonly hash: number; readonly count: number }[] {
    const found = [];
    for (let nth = 0; nth < this.#used; nth += 1) {
      const slot = this.#slots[nth] ?? 0;
      const count = this.#counts[slot] ?? 0;
      if (count > 1) found.push({ hash: this.#hashes[slot] ?? 0, count });
    }
    return found;
  }
}

const sketcher: Sketcher = new Sketcher();

export function makeSketch(tokens: readonly string[]): Uint8Array {
  sketcher.begin(tokens.length);
  for (const token of tokens) sketcher.add(hash32(token));
  return sketcher.finish();
}

/** A sketch among others: thousands of them are looked at for one query. */
export interface Sketch {
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

/** Counts a token in a document that has it. */
export function countIn({ bytes, from, to }: Sketch, hash: number): number {
  for (let at = from; at < to; at += 2) {
    const entry = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
    if (entry >> 4 === hash) return (entry & 15) + 2;
  }
  return 1;
}

/** FNV-1a over the UTF-16 units, folded to 12 bits. */
export function hash12(token: string): number {
  return fold12(hash32(token));
}

function fold12(hash: number): number {
  return (hash ^ (hash >>> 12) ^ (hash >>> 24)) & 0xfff;
}

function hash32(token: string): number {
  let hash = HASH_BEGIN;
  for (let at = 0; at < token.length; at += 1) hash = hashUnit(hash, token.charCodeAt(at));
  return hash;
}

/** The hash of nothing. */
export const HASH_BEGIN: number = 0x811c9dc5 | 0;

export function hashUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01000193);
}
