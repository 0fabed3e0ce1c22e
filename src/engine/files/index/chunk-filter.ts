import { prefixAt } from './sorted-block.ts';

// A Bloom filter for the entries of one chunk: 1,024 bits for up to 76 keys, six bits a key, so that
// 2 lookups in 1,000 read a chunk for nothing. The keys are hashes themselves, so their own bytes 4 to
// 12 choose the bits.

export const FILTER_BYTES = 128;
const BIT_MASK = FILTER_BYTES * 8 - 1;
const BITS_PER_KEY = 6;

/** Adds the key at `keyAt` of `block` to the filter at `filterAt` of `filters`. */
export function addToFilter(
  filters: Uint8Array,
  filterAt: number,
  block: Buffer,
  keyAt: number,
): void {
  const step = bitStep(block, keyAt);
  let bit = firstBit(block, keyAt);
  for (let i = 0; i < BITS_PER_KEY; i++, bit = (bit + step) & BIT_MASK) {
    const at = filterAt + (bit >>> 3);
    filters[at] = (filters[at] ?? 0) | (1 << (bit & 7));
  }
}

/** A key to look up, split once for all the filters that are checked for it. */
export class Probe {
  readonly key: Buffer;
  /** The first four bytes of the key. */
  readonly prefix: number;
  readonly #bit: number;
  readonly #step: number;

  constructor(key: Buffer) {
    this.key = key;
    this.prefix = prefixAt(key, 0);
    this.#bit = firstBit(key, 0);
    this.#step = bitStep(key, 0);
  }

  /** False when the key is certainly not in the chunk of the filter at `filterAt`. */
  mayBeIn(filters: Uint8Array, filterAt: number): boolean {
    const step = this.#step;
    let bit = this.#bit;
    for (let i = 0; i < BITS_PER_KEY; i++, bit = (bit + step) & BIT_MASK) {
      const byte = filters[filterAt + (bit >>> 3)] ?? 0;
      if ((byte & (1 << (bit & 7))) === 0) return false;
    }
    return true;
  }
}

function firstBit(block: Buffer, keyAt: number): number {
  return block.readUInt32LE(keyAt + 4) & BIT_MASK;
}

/** An odd number, so that the six bits of a key differ. */
function bitStep(block: Buffer, keyAt: number): number {
  return (block.readUInt32LE(keyAt + 8) & BIT_MASK) | 1;
}
