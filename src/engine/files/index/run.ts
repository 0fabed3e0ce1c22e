import { addToFilter, FILTER_BYTES, type Probe } from './chunk-filter.ts';
import { prefixAt } from './sorted-block.ts';

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
