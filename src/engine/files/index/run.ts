// The part of one run that is kept in memory: for each chunk the first prefix in it (its fence) and a filter. That
// is 132 bytes for up to 76 entries, so a lookup of a missing key costs no read. A run of ten million blobs takes
// 17 MB here.
// Invariants
// - Chunks are numbered from 0 and only ever added at the end; those below `base` are gone.
// - Fences do not fall. A prefix can only be in a chunk whose fence is not above it.

/** The manifest's entry for a run. */
export interface RunState {
  readonly id: number;
  readonly entries: number;
  /** The first chunk that still exists. */
  readonly base: number;
  /** One more than the number of the last chunk. */
  readonly end: number;
}

export class Run {
  readonly id: number;
  entries = 0;
  base = 0;
  #end = 0;
  #fences = new Uint32Array(8);
  #filters: Uint8Array = new Uint8Array(8 * FILTER_BYTES);

  constructor(id: number) {
    this.id = id;
  }

  get end(): number {
    return this.#end;
  }

  state(): RunState {
    return { id: this.id, entries: this.entries, base: this.base, end: this.#end };
  }

  /** Adds one chunk of sorted entries and returns its number. */
  addChunk(chunk: Buffer, entryBytes: number): number {
    const number = this.#grow(prefixAt(chunk, 0));
    for (let at = 0; at < chunk.length; at += entryBytes) {
      addToFilter(this.#filters, number * FILTER_BYTES, chunk, at);
    }
    this.entries += chunk.length / entryBytes;
    return number;
  }

  /** Fences and filters of the chunks from `first` on, as they are kept on disk. */
  guide(first: number): Buffer {
    const count = this.#end - first;
    const guide = Buffer.allocUnsafe(count * (4 + FILTER_BYTES));
    for (let i = 0; i < count; i++) guide.writeUInt32LE(this.fence(first + i), i * 4);
    guide.set(this.#filters.subarray(first * FILTER_BYTES, this.#end * FILTER_BYTES), count * 4);
    return guide;
  }

  /** Loads the output of `guide` for the chunks from `first` on. Returns false when it does not fit. */
  addGuide(first: number, guide: Buffer): boolean {
    const count = guide.length / (4 + FILTER_BYTES);
    if (!Number.isInteger(count) || first !== this.#end) return false;
    for (let i = 0; i < count; i++) {
      const number = this.#grow(guide.readUInt32LE(i * 4));
      const from = count * 4 + i * FILTER_BYTES;
      this.#filters.set(guide.subarray(from, from + FILTER_BYTES), number * FILTER_BYTES);
    }
    return true;
  }

  fence(chunk: number): number {
    return this.#fences[chunk] ?? 0;
  }

  /**
   * The first chunk that can hold `prefix`. Prefixes spread evenly, so the chunk is near the position of `prefix`
   * between 0 and the last fence. From there, doubling steps lead to the two chunks around it.
   */
  firstChunkFor(prefix: number): number {
    const last = this.#end - 1;
    // The answer is `low` or a chunk between it and `high`.
    let low = this.base;
    let high = this.#end;
    const guess = Math.max(low, Math.min((prefix / this.fence(last)) * last, last) | 0);
    let step = 1;
    if (this.fence(guess) < prefix) {
      low = guess;
      for (; low + step < high && this.fence(low + step) < prefix; step *= 2) low += step;
      high = Math.min(high, low + step);
    } else {
      high = guess;
      for (; high - step > low && this.fence(high - step) >= prefix; step *= 2) high -= step;
      low = Math.max(low, high - step);
    }
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.fence(middle) < prefix) low = middle;
      else high = middle;
    }
    return low;
  }

  /** The first chunk from `chunk` on that may hold the key, or undefined. */
  nextCandidate(chunk: number, probe: Probe): number | undefined {
    for (let i = chunk; i < this.#end && this.fence(i) <= probe.prefix; i++) {
      if (probe.mayBeIn(this.#filters, i * FILTER_BYTES)) return i;
    }
    return undefined;
  }

  #grow(fence: number): number {
    const number = this.#end++;
    if (number === this.#fences.length) {
      const fences = new Uint32Array(number * 2);
      fences.set(this.#fences);
      this.#fences = fences;
      const filters = new Uint8Array(number * 2 * FILTER_BYTES);
      filters.set(this.#filters);
      this.#filters = filters;
    }
    this.#fences[number] = fence;
    return number;
  }
}

// Blocks: fixed-size entries back to back, each starting with a key of uniformly random bytes (a hash).
// A sorted block is in order of the first four key bytes and holds no entry twice. Ties are in any
// order: among random keys they are rare, and a lookup looks at all of them.

/** Keys of random bytes spread evenly over 0 … PREFIX_END. */
export const PREFIX_END: number = 2 ** 32;

/** Sorting packs prefix and position into one double, which leaves 20 bits for the position. */
export const BLOCK_ENTRIES_MAX: number = 2 ** 20;

export interface EntryLayout {
  readonly keyBytes: number;
  readonly entryBytes: number;
}

/** Whether the entry at `at` of `block` no longer counts. */
export type IsGone = (block: Buffer, at: number) => boolean;

export function prefixAt(block: Buffer, offset: number): number {
  return block.readUInt32BE(offset);
}

/** A sorted block with the same entries, each of them once. Takes up to `BLOCK_ENTRIES_MAX` entries. */
export function sortBlock(block: Buffer, entryBytes: number): Buffer {
  const count = block.length / entryBytes;
  const order = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    order[i] = prefixAt(block, i * entryBytes) * BLOCK_ENTRIES_MAX + i;
  }
  order.sort();

  const sorted = Buffer.allocUnsafe(block.length);
  let end = 0;
  for (const packed of order) {
    const from = (packed % BLOCK_ENTRIES_MAX) * entryBytes;
    const twinPossible = end > 0 && prefixAt(sorted, end - entryBytes) === prefixAt(block, from);
    if (twinPossible && hasTwin(sorted.subarray(0, end), block, from, entryBytes)) continue;
    // For the 24 to 64 bytes of an entry a call takes three times as long as this loop.
    for (let i = 0; i < entryBytes; i++) sorted[end + i] = block[from + i] ?? 0;
    end += entryBytes;
  }
  return sorted.subarray(0, end);
}

/** Whether the entry at `from` is among those at the end of `sorted` that share its prefix. */
function hasTwin(sorted: Buffer, block: Buffer, from: number, entryBytes: number): boolean {
  const prefix = prefixAt(block, from);
  let at = sorted.length - entryBytes;
  for (; at >= 0 && prefixAt(sorted, at) === prefix; at -= entryBytes) {
    if (sorted.compare(block, from, from + entryBytes, at, at + entryBytes) === 0) return true;
  }
  return false;
}

/** Offset of the first entry with a prefix of `prefix` or more. */
function lowerBound(sorted: Buffer, entryBytes: number, prefix: number): number {
  let low = 0;
  let high = sorted.length / entryBytes;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (prefixAt(sorted, middle * entryBytes) < prefix) low = middle + 1;
    else high = middle;
  }
  return low * entryBytes;
}

/** An entry of a sorted block with this key. */
export function findEntry(
  sorted: Buffer,
  layout: EntryLayout,
  key: Buffer,
  isGone?: IsGone,
): Buffer | undefined {
  const { keyBytes, entryBytes } = layout;
  const prefix = prefixAt(key, 0);
  let at = lowerBound(sorted, entryBytes, prefix);
  for (; at < sorted.length && prefixAt(sorted, at) === prefix; at += entryBytes) {
    if (sorted.compare(key, 0, keyBytes, at, at + keyBytes) !== 0) continue;
    if (isGone?.(sorted, at) !== true) return sorted.subarray(at, at + entryBytes);
  }
  return undefined;
}

/** The entries whose prefix is at least `from` and less than `to`. */
export function sliceBlock(sorted: Buffer, entryBytes: number, from: number, to: number): Buffer {
  return sorted.subarray(lowerBound(sorted, entryBytes, from), lowerBound(sorted, entryBytes, to));
}

/** The entries that still count. Returns the block itself when all of them do. */
export function withoutGone(block: Buffer, entryBytes: number, isGone: IsGone): Buffer {
  const kept: Buffer[] = [];
  let start = 0;
  for (let at = 0; at < block.length; at += entryBytes) {
    if (!isGone(block, at)) continue;
    kept.push(block.subarray(start, at));
    start = at + entryBytes;
  }
  return start === 0 ? block : Buffer.concat([...kept, block.subarray(start)]);
}

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
