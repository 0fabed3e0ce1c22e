import { groupsOf } from '../../../base/groups-of.ts';
import type { BlobPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import type { GiveWay } from './give-way.ts';

/** The places of blobs that the index finds in one pack: 5 bytes each, instead of a lookup for every record. */
export class PackPlaces {
  #offsets: Uint32Array;
  #dead: Uint8Array = new Uint8Array();
  /** Places of blobs that have other places, too. The index must be asked which place counts. */
  readonly #shared: Set<number> = new Set();
  /** Dead records that were not seen in the index. */
  readonly #strayDead: Set<number> = new Set();
  #count = 0;

  /** `expected` is the approximate number of places. */
  constructor(expected: number) {
    this.#offsets = new Uint32Array(Math.max(16, expected));
  }

  add(offset: number): void {
    if (this.#count === this.#offsets.length) {
      const more = new Uint32Array(this.#count * 2);
      more.set(this.#offsets);
      this.#offsets = more;
    }
    this.#offsets[this.#count] = offset;
    this.#count += 1;
  }

  addShared(offset: number): void {
    this.#shared.add(offset);
  }

  /** Call this after all places are added, and before any question. */
  sort(): void {
    this.#offsets.subarray(0, this.#count).sort();
    this.#dead = new Uint8Array(this.#count);
  }

  /** True when this is the only place of its blob. */
  isOnly(offset: number): boolean {
    return this.#find(offset) !== -1 && !this.#shared.has(offset);
  }

  addDead(offset: number): void {
    const at = this.#find(offset);
    if (at === -1) this.#strayDead.add(offset);
    else this.#dead[at] = 1;
  }

  isDead(offset: number): boolean {
    const at = this.#find(offset);
    return at === -1 ? this.#strayDead.has(offset) : this.#dead[at] === 1;
  }

  removeDead(offset: number): void {
    const at = this.#find(offset);
    if (at === -1) this.#strayDead.delete(offset);
    else this.#dead[at] = 0;
  }

  #find(offset: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#offsets[middle] ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low < this.#count && this.#offsets[low] === offset ? low : -1;
  }
}

/** Walks the index once for several packs. Records added after the walk are not among the places. */
export async function readPackPlaces(
  index: Index,
  uses: readonly PackUse[],
  way: GiveWay,
): Promise<Map<number, PackPlaces>> {
  const found = new Map(uses.map(({ pack, places }) => [pack, new PackPlaces(places)]));
  let before: BlobPlace | undefined;
  for (const place of index.walkBlobs()) {
    const { pack, offset, hash } = place;
    found.get(pack)?.add(offset);
    // The places of one blob come one after the other.
    if (before?.hash === hash) {
      found.get(pack)?.addShared(offset);
      found.get(before.pack)?.addShared(before.offset);
    }
    before = place;
    if (way.isDue) await way.breathe();
  }
  for (const places of found.values()) places.sort();
  return found;
}

/** The use of one pack, as the mark found it. */
export interface PackUse {
  readonly pack: number;
  readonly liveBytes: number;
  readonly deadBytes: number;
  /** The number of places that the index has in the pack. */
  readonly places: number;
}

interface PackPlan {
  /** The packs to rewrite, in this order: packs that free room without needing any come first. */
  readonly rewrite: readonly PackUse[];
  /** Dead bytes in packs that are left alone. */
  readonly keptDeadBytes: number;
}

/** Decides which packs are worth rewriting. Deletes nothing. */
export function planPacks(uses: readonly PackUse[], deadShare: number): PackPlan {
  const worth = uses.filter(
    ({ liveBytes, deadBytes }) => deadBytes > 0 && deadBytes >= deadShare * (liveBytes + deadBytes),
  );
  const rewritten = new Set(worth.map(({ pack }) => pack));
  const left = uses.filter(({ pack }) => !rewritten.has(pack));
  return {
    rewrite: worth.toSorted((a, b) => a.liveBytes - b.liveBytes || a.pack - b.pack),
    keptDeadBytes: left.reduce((sum, { deadBytes }) => sum + deadBytes, 0),
  };
}

/** Cuts a plan into groups whose places fit into memory together, each of at least one pack. */
export function groupPacks(uses: readonly PackUse[], placesMax: number): Iterable<PackUse[]> {
  return groupsOf(uses, placesMax, ({ places }) => places);
}
