// Finds the segment in which a message began, by a hash of its id. The index is a list of sorted runs, each for a power
// of two of segments, as in a binary counter. So adding a segment costs O(log n) on average, and opening a long chat
// reads one run per bit of its number of segments. Two ids may share a hash, so a caller looks into the named segments.

/** Sorted by hash; places with the same hash stand side by side. */
export interface IdRun {
  /** The number of segments that the run covers. */
  readonly segments: number;
  readonly hashes: Float64Array;
  readonly places: Uint32Array;
}

const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;

export class IdIndex {
  /** Runs of falling size. */
  readonly #runs: IdRun[];

  constructor(runs: readonly IdRun[] = []) {
    this.#runs = [...runs];
  }

  /** The number of segments in the index. */
  get segments(): number {
    return this.#runs.reduce((sum, run) => sum + run.segments, 0);
  }

  /** Adds the next segment, and returns the run that it became part of. */
  add(ids: Iterable<string>): IdRun {
    let run = toRun(ids, this.segments);
    for (let last = this.#runs.at(-1); last?.segments === run.segments; last = this.#runs.at(-1)) {
      run = mergeRuns(last, run);
      this.#runs.pop();
    }
    this.#runs.push(run);
    return run;
  }

  /** Returns the segments in which a message of this id may have begun, the first one first. */
  find(id: string): number[] {
    const hash = hashId(id);
    return this.#runs.flatMap((run) => placesOf(run, hash)).toSorted((a, b) => a - b);
  }
}

/** The number of segments that the run stored with segment `index` covers: its lowest bit, from 1. */
export function runLength(index: number): number {
  const count = index + 1;
  return count & -count;
}

function placesOf({ hashes, places }: IdRun, hash: number): number[] {
  let low = 0;
  let high = hashes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((hashes[middle] ?? Infinity) < hash) low = middle + 1;
    else high = middle;
  }
  const found: number[] = [];
  for (let at = low; hashes[at] === hash; at += 1) found.push(places[at] ?? 0);
  return found;
}

function toRun(ids: Iterable<string>, segment: number): IdRun {
  const hashes = Float64Array.from(ids, hashId).toSorted();
  return { segments: 1, hashes, places: new Uint32Array(hashes.length).fill(segment) };
}

function mergeRuns(a: IdRun, b: IdRun): IdRun {
  const length = a.hashes.length + b.hashes.length;
  const hashes = new Float64Array(length);
  const places = new Uint32Array(length);
  let [left, right] = [0, 0];
  for (let at = 0; at < length; at += 1) {
    const fromLeft = (a.hashes[left] ?? Infinity) <= (b.hashes[right] ?? Infinity);
    const from = fromLeft ? a : b;
    const index = fromLeft ? left : right;
    hashes[at] = from.hashes[index] ?? 0;
    places[at] = from.places[index] ?? 0;
    if (fromLeft) left += 1;
    else right += 1;
  }
  return { segments: a.segments + b.segments, hashes, places };
}

/** A hash of 53 bits (cyrb53): exact as a number, and even enough for an index that is checked. */
export function hashId(id: string): number {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high =
    Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low =
    Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}

// 0           4        8                8+8n             8+12n
// | segments  | n      | hashes         | places         |   little-endian
// | u32       | u32    | f64 each       | u32 each       |
export function encodeRun({ segments, hashes, places }: IdRun): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + ENTRY_BYTES * hashes.length);
  bytes.writeUInt32LE(segments, 0);
  bytes.writeUInt32LE(hashes.length, 4);
  const placesAt = HEADER_BYTES + 8 * hashes.length;
  for (let at = 0; at < hashes.length; at += 1) {
    bytes.writeDoubleLE(hashes[at] ?? 0, HEADER_BYTES + 8 * at);
    bytes.writeUInt32LE(places[at] ?? 0, placesAt + 4 * at);
  }
  return bytes;
}

/** Returns undefined when the bytes are not a run. */
export function decodeRun(bytes: Uint8Array): IdRun | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = view.readUInt32LE(4);
  if (bytes.length !== HEADER_BYTES + ENTRY_BYTES * count) return undefined;
  const segments = view.readUInt32LE(0);
  const placesAt = HEADER_BYTES + 8 * count;
  if (!IS_LITTLE_ENDIAN) {
    const hashes = Float64Array.from({ length: count }, (_, at) =>
      view.readDoubleLE(HEADER_BYTES + 8 * at),
    );
    const places = Uint32Array.from({ length: count }, (_, at) =>
      view.readUInt32LE(placesAt + 4 * at),
    );
    return { segments, hashes, places };
  }
  // If the bytes are not aligned for numbers, a copy is; reading a million numbers then takes no time.
  const isFit = bytes.byteOffset % Float64Array.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset } = isFit ? bytes : new Uint8Array(bytes);
  const hashes = new Float64Array(buffer, byteOffset + HEADER_BYTES, count);
  return { segments, hashes, places: new Uint32Array(buffer, byteOffset + placesAt, count) };
}

const IS_LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
