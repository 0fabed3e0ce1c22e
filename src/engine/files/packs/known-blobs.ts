import type { Hash } from '../../../base/brand.ts';

// The blobs of the index with their lengths, for checks of all turns and chunks: 12 bytes a blob. A lookup in the
// index itself reads a page of it, which took half of the time of checking small turns. 64 bits of each hash are
// kept. Two hashes that share these bits count as one: among ten million blobs a missing one goes unnoticed with a
// chance of one in 10^12, and its reader still gets an error.

const BUCKET_BITS = 16;
const BUCKETS = 2 ** BUCKET_BITS;

export class KnownBlobs {
  #high: Uint32Array;
  #low: Uint32Array;
  #sizes: Uint32Array;
  #count = 0;
  #isSorted = true;
  /** The start of the hashes that begin with these 16 bits. Empty until `seal`. */
  #starts: Uint32Array = new Uint32Array();

  /** `expected` is the approximate number of blobs. */
  constructor(expected: number) {
    this.#high = new Uint32Array(expected + 1);
    this.#low = new Uint32Array(expected + 1);
    this.#sizes = new Uint32Array(expected + 1);
  }

  /** When a blob is added twice, either size may be kept. */
  add(hash: Hash, size: number): void {
    const at = this.#count;
    if (at === this.#high.length) {
      this.#high = grown(this.#high);
      this.#low = grown(this.#low);
      this.#sizes = grown(this.#sizes);
    }
    const high = wordAt(hash, 0);
    if (at > 0 && high < (this.#high[at - 1] ?? 0)) this.#isSorted = false;
    this.#high[at] = high;
    this.#low[at] = wordAt(hash, 8);
    this.#sizes[at] = size;
    this.#count += 1;
  }

  /** Call this after all blobs are added, and before `sizeOf`. An index is walked mostly in order. */
  seal(): void {
    if (!this.#isSorted) this.#sort();
    this.#starts = new Uint32Array(BUCKETS + 1);
    for (let at = 0; at < this.#count; at += 1) {
      const next = ((this.#high[at] ?? 0) >>> (32 - BUCKET_BITS)) + 1;
      this.#starts[next] = at + 1;
    }
    for (let bucket = 1; bucket <= BUCKETS; bucket += 1) {
      this.#starts[bucket] = Math.max(this.#starts[bucket] ?? 0, this.#starts[bucket - 1] ?? 0);
    }
  }

  /** Undefined for a blob that was not added. */
  sizeOf(hash: Hash): number | undefined {
    const high = wordAt(hash, 0);
    const low = wordAt(hash, 8);
    const bucket = high >>> (32 - BUCKET_BITS);
    let from = this.#starts[bucket] ?? 0;
    let to = this.#starts[bucket + 1] ?? 0;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#high[middle] ?? 0) < high) from = middle + 1;
      else to = middle;
    }
    for (; from < this.#count && this.#high[from] === high; from += 1) {
      if (this.#low[from] === low) return this.#sizes[from];
    }
    return undefined;
  }

  #sort(): void {
    const order = Array.from({ length: this.#count }, (_, at) => at);
    order.sort((a, b) => (this.#high[a] ?? 0) - (this.#high[b] ?? 0));
    const sorted = (words: Uint32Array): Uint32Array =>
      Uint32Array.from(order, (at) => words[at] ?? 0);
    [this.#low, this.#sizes, this.#high] = [
      sorted(this.#low),
      sorted(this.#sizes),
      sorted(this.#high),
    ];
  }
}

function grown(words: Uint32Array): Uint32Array {
  const more = new Uint32Array(words.length * 2);
  more.set(words);
  return more;
}

function wordAt(hash: Hash, digit: number): number {
  return Number.parseInt(hash.slice(digit, digit + 8), 16);
}
