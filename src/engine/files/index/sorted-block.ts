// Blocks: fixed-size entries back to back, each starting with a key of uniformly random bytes (a hash).
// A sorted block is in order of the first four key bytes and holds no entry twice. Ties are in any
// order: among random keys they are rare, and a lookup looks at all of them.

export interface EntryLayout {
  readonly keyBytes: number;
  readonly entryBytes: number;
}

/** Whether the entry at `at` of `block` no longer counts. */
export type IsGone = (block: Buffer, at: number) => boolean;

/** Keys of random bytes spread evenly over 0 … PREFIX_END. */
export const PREFIX_END: number = 2 ** 32;

/** Sorting packs prefix and position into one double, which leaves 20 bits for the position. */
export const BLOCK_ENTRIES_MAX: number = 2 ** 20;

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
export function lowerBound(sorted: Buffer, entryBytes: number, prefix: number): number {
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
