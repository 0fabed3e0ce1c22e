import { BLOB_OVERHEAD_BYTES } from '../../../format/blob-record.ts';
import type { BlobPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import type { PackUse } from './plan-packs.ts';

/** The walk over the index gives way to commits this often. */
const WALK_STEP = 4096;

/**
 * How much of each pack is alive. Of a blob that lies in several places, as an interrupted collection
 * leaves it, the one that is found counts; the others are as good as dead.
 */
export async function measurePacks(
  index: Index,
  isKept: (place: BlobPlace) => boolean,
): Promise<PackUse[]> {
  const uses = new Map<number, { pack: number; liveBytes: number; deadBytes: number }>();
  const count = (place: BlobPlace, isAlive: boolean, sign: 1 | -1): void => {
    const { pack } = place;
    const use = uses.get(pack) ?? { pack, liveBytes: 0, deadBytes: 0 };
    uses.set(pack, use);
    use[isAlive ? 'liveBytes' : 'deadBytes'] += sign * (BLOB_OVERHEAD_BYTES + place.storedLength);
  };
  let before: { place: BlobPlace; isAlive: boolean } | undefined;
  let steps = 0;
  // The places of one blob come one after the other.
  for (const place of index.walkBlobs()) {
    let isAlive = isKept(place);
    if (isAlive && before?.isAlive === true && before.place.hash === place.hash) {
      isAlive = isFoundAt(index, place);
      if (isAlive) {
        count(before.place, true, -1);
        count(before.place, false, 1);
      }
    }
    count(place, isAlive, 1);
    // The one that is found stays in mind until the next blob.
    if (isAlive || before?.place.hash !== place.hash) before = { place, isAlive };
    steps += 1;
    if (steps % WALK_STEP === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return [...uses.values()];
}

function isFoundAt(index: Index, { hash, pack, offset }: BlobPlace): boolean {
  const found = index.findBlob(hash);
  return found?.pack === pack && found.offset === offset;
}
