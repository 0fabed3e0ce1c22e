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
  const step = block.readUInt32LE(keyAt + 8) | 1;
  let bit = block.readUInt32LE(keyAt + 4);
  for (let i = 0; i < BITS_PER_KEY; i++, bit += step) {
    const at = filterAt + ((bit & BIT_MASK) >>> 3);
    filters[at] = (filters[at] ?? 0) | (1 << (bit & 7));
  }
}

/** False when the key is surely not in the chunk. */
export function mayContain(filters: Uint8Array, filterAt: number, key: Buffer): boolean {
  const step = key.readUInt32LE(8) | 1;
  let bit = key.readUInt32LE(4);
  for (let i = 0; i < BITS_PER_KEY; i++, bit += step) {
    const byte = filters[filterAt + ((bit & BIT_MASK) >>> 3)] ?? 0;
    if ((byte & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}
