import type { Hash } from '../base/brand.ts';

// A set of hashes for counts in the tens of millions: 64 bits of each, in open addressing.
// Two hashes that share those bits count as one. For a set of hashes that must stay that errs on the safe side, and it
// takes billions of blobs before it happens once.
// The table is cut into shards that grow one at a time, so that growing never needs twice the memory.

const SHARD_BITS = 6;
const SHARDS = 1 << SHARD_BITS;
const SLOTS_MIN = 16;
const LOAD_MAX = 0.8;
const GROWTH = 1.5;
const UINT32 = 0x1_0000_0000;

interface Shard {
  /** Two words a slot; both zero: empty. */
  words: Uint32Array;
  count: number;
}

/** The first 64 bits of a hash. */
export interface Prefix {
  readonly high: number;
  readonly low: number;
}

export function toPrefix(hash: Hash): Prefix {
  return {
    high: Number.parseInt(hash.slice(0, 8), 16),
    low: Number.parseInt(hash.slice(8, 16), 16),
  };
}

export class LiveSet {
  readonly #shards: Shard[] = Array.from({ length: SHARDS }, () => emptyShard(SLOTS_MIN));
  /** The one prefix that looks like an empty slot. */
  #hasZero = false;

  get size(): number {
    const counted = this.#shards.reduce((sum, shard) => sum + shard.count, 0);
    return counted + (this.#hasZero ? 1 : 0);
  }

  /** Bytes that the tables take. */
  get memoryBytes(): number {
    return this.#shards.reduce((sum, shard) => sum + shard.words.byteLength, 0);
  }

  has(hash: Hash): boolean {
    return this.hasPrefix(toPrefix(hash));
  }

  /** False when the hash was there before. */
  add(hash: Hash): boolean {
    return this.addPrefix(toPrefix(hash));
  }

  hasPrefix({ high, low }: Prefix): boolean {
    if (high === 0 && low === 0) return this.#hasZero;
    const { words } = this.#shardOf(high);
    const slot = findSlot(words, high, low);
    return words[slot] !== 0 || words[slot + 1] !== 0;
  }

  addPrefix({ high, low }: Prefix): boolean {
    if (high === 0 && low === 0) {
      const isNew = !this.#hasZero;
      this.#hasZero = true;
      return isNew;
    }
    const shard = this.#shardOf(high);
    const slot = findSlot(shard.words, high, low);
    if (shard.words[slot] !== 0 || shard.words[slot + 1] !== 0) return false;
    shard.words[slot] = high;
    shard.words[slot + 1] = low;
    shard.count += 1;
    if (shard.count > (shard.words.length / 2) * LOAD_MAX) grow(shard);
    return true;
  }

  #shardOf(high: number): Shard {
    const shard = this.#shards[high >>> (32 - SHARD_BITS)];
    if (shard === undefined) throw new RangeError(`no shard for ${high}`);
    return shard;
  }
}

function emptyShard(slots: number): Shard {
  return { words: new Uint32Array(slots * 2), count: 0 };
}

/** The index of the first word of the prefix's slot, or of the empty slot where it would go. */
function findSlot(words: Uint32Array, high: number, low: number): number {
  const slots = words.length / 2;
  // The bits below those that chose the shard, scaled to the table: any number of slots will do.
  let slot = Math.floor((((high << SHARD_BITS) >>> 0) / UINT32) * slots);
  for (;;) {
    const at = slot * 2;
    const first = words[at];
    const second = words[at + 1];
    if ((first === high && second === low) || (first === 0 && second === 0)) return at;
    slot = slot + 1 === slots ? 0 : slot + 1;
  }
}

function grow(shard: Shard): void {
  const old = shard.words;
  const words = new Uint32Array(Math.ceil((old.length / 2) * GROWTH) * 2);
  for (let at = 0; at < old.length; at += 2) {
    const high = old[at] ?? 0;
    const low = old[at + 1] ?? 0;
    if (high === 0 && low === 0) continue;
    const slot = findSlot(words, high, low);
    words[slot] = high;
    words[slot + 1] = low;
  }
  shard.words = words;
}
