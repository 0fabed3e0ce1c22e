import { groupsOf } from '../../../base/pages.ts';
import type { BlobPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import type { GiveWay } from './give-way.ts';

/** Bytes of a pack whose places are one stretch: about 4,000 blobs of 250 bytes. */
const STRETCH_BITS = 20;
const FIRST_PLACES = 64;
const GROWTH = 1.5;

/**
 * The places of blobs that the index finds in one pack: 5 to 7 bytes each, instead of a lookup for every record. All
 * places are added before the first question.
 */
export class PackPlaces {
  /** By number. A stretch without places is missing. */
  readonly #stretches: Stretch[] = [];
  /** Places of blobs that have other places, too. The index must be asked which place counts. */
  readonly #shared: Set<number> = new Set();
  /** Dead records that were not seen in the index. */
  readonly #strayDead: Set<number> = new Set();

  add(offset: number): void {
    const number = offset >>> STRETCH_BITS;
    const stretch = (this.#stretches[number] ??= new Stretch());
    stretch.add(offset);
  }

  addShared(offset: number): void {
    this.#shared.add(offset);
  }

  /** True when this is the only place of its blob. */
  isOnly(offset: number): boolean {
    return this.#stretchOf(offset) !== undefined && !this.#shared.has(offset);
  }

  addDead(offset: number): void {
    const stretch = this.#stretchOf(offset);
    if (stretch === undefined) this.#strayDead.add(offset);
    else stretch.setDead(offset, true);
  }

  isDead(offset: number): boolean {
    return this.#stretchOf(offset)?.isDead(offset) ?? this.#strayDead.has(offset);
  }

  removeDead(offset: number): void {
    const stretch = this.#stretchOf(offset);
    if (stretch === undefined) this.#strayDead.delete(offset);
    else stretch.setDead(offset, false);
  }

  /** The stretch that has this place. */
  #stretchOf(offset: number): Stretch | undefined {
    const stretch = this.#stretches[offset >>> STRETCH_BITS];
    return stretch?.has(offset) === true ? stretch : undefined;
  }
}

/**
 * The places in one stretch of a pack. The first question sorts them, so a collection sorts as it goes through the
 * pack: to sort 900,000 places at once took 60 ms, in which no commit went on.
 */
class Stretch {
  #offsets = new Uint32Array(FIRST_PLACES);
  #count = 0;
  /** One for each place. Missing before the places are sorted. */
  #dead: Uint8Array | undefined;

  add(offset: number): void {
    if (this.#count === this.#offsets.length) {
      const more = new Uint32Array(this.#count * GROWTH);
      more.set(this.#offsets);
      this.#offsets = more;
    }
    this.#offsets[this.#count] = offset;
    this.#count += 1;
  }

  has(offset: number): boolean {
    const at = this.#find(offset);
    return this.#offsets[at] === offset;
  }

  /** The place must be there, here and below. */
  setDead(offset: number, isDead: boolean): void {
    const at = this.#find(offset);
    if (this.#dead !== undefined) this.#dead[at] = isDead ? 1 : 0;
  }

  isDead(offset: number): boolean {
    const at = this.#find(offset);
    return this.#dead?.[at] === 1;
  }

  #sort(): void {
    this.#offsets = this.#offsets.slice(0, this.#count).sort();
    this.#dead = new Uint8Array(this.#count);
  }

  /** The first place that is not before `offset`. */
  #find(offset: number): number {
    if (this.#dead === undefined) this.#sort();
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#offsets[middle] ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Walks the index once for several packs. Records added after the walk are not among the places. */
export async function readPackPlaces(
  index: Index,
  uses: readonly PackUse[],
  way: GiveWay,
): Promise<Map<number, PackPlaces>> {
  const found = new Map(uses.map(({ pack }) => [pack, new PackPlaces()]));
  let before: BlobPlace | undefined;
  for (const place of index.flushed().walkBlobs()) {
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
