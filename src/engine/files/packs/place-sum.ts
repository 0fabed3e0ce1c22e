import type { BlobPlace } from '../index/shelf.ts';

// Tells whether two walks, in different orders, saw the same places. It compares the count and the sum of a 64-bit
// mix of each place, so ten million places take a few bytes. Blob hashes are random already, so the mix only ties
// them to their place. The sum finds damage and does not withstand forgery.

export class PlaceSum {
  #count = 0;
  #low = 0;
  #high = 0;

  add({ hash, offset, rawLength, storedLength, codec }: Omit<BlobPlace, 'pack'>): void {
    let low = parseInt(hash.slice(0, 8), 16) ^ (offset >>> 0);
    let high = parseInt(hash.slice(8, 16), 16) ^ Math.floor(offset / 2 ** 32) ^ codec;
    low = stir(low) ^ rawLength;
    high = stir(high ^ low) ^ storedLength;
    this.#count += 1;
    this.#low = (this.#low + stir(low ^ high)) >>> 0;
    this.#high = (this.#high + stir(high)) >>> 0;
  }

  isSame(other: PlaceSum): boolean {
    return this.#count === other.#count && this.#low === other.#low && this.#high === other.#high;
  }
}

/** The finaliser of MurmurHash3: every bit of the input changes about half of the output. */
function stir(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
