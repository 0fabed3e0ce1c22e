import { BLOB_OVERHEAD_BYTES } from '../../../format/blob-record.ts';
import type { BlobPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import type { GiveWay } from './give-way.ts';
import type { PackUse } from './plan-packs.ts';

export interface MeasureOptions {
  readonly isKept: (place: BlobPlace) => boolean;
  /** Called for every place that is not kept. */
  readonly onDead: (place: BlobPlace) => Promise<void> | void;
  readonly way: GiveWay;
}

/**
 * Measures how much of each pack is alive. A blob may lie in several places after an interrupted collection. Then
 * the place that the index finds counts, and the others count as dead.
 */
export async function measurePacks(
  index: Index,
  { isKept, onDead, way }: MeasureOptions,
): Promise<PackUse[]> {
  const uses = new Map<number, { -readonly [Key in keyof PackUse]: PackUse[Key] }>();
  const count = (place: BlobPlace, isAlive: boolean, sign: 1 | -1): void => {
    const { pack } = place;
    const use = uses.get(pack) ?? { pack, liveBytes: 0, deadBytes: 0, places: 0 };
    uses.set(pack, use);
    use[isAlive ? 'liveBytes' : 'deadBytes'] += sign * (BLOB_OVERHEAD_BYTES + place.storedLength);
    use.places += sign;
  };
  let before: { place: BlobPlace; isAlive: boolean } | undefined;
  // The places of one blob come one after the other.
  for (const place of index.walkBlobs()) {
    const kept = isKept(place);
    let isAlive = kept;
    if (isAlive && before?.isAlive === true && before.place.hash === place.hash) {
      isAlive = isFoundAt(index, place);
      if (isAlive) {
        count(before.place, true, -1);
        count(before.place, false, 1);
      }
    }
    count(place, isAlive, 1);
    // The place that the index finds is remembered until the next blob.
    if (isAlive || before?.place.hash !== place.hash) before = { place, isAlive };
    const waiting = kept ? undefined : onDead(place);
    if (waiting !== undefined) await waiting;
    if (way.isDue) await way.rest();
  }
  return [...uses.values()];
}

function isFoundAt(index: Index, { hash, pack, offset }: BlobPlace): boolean {
  const found = index.findBlob(hash);
  return found?.pack === pack && found.offset === offset;
}
