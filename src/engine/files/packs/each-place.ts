import type { BlobPlace } from '../index/shelf.ts';
import type { Check } from '../truth/check.ts';

const STEP = 1024;

/** Walks the index's places that the snapshot covers, with a pause for others now and then. */
export async function eachPlace(
  { core, findings, snapshot }: Check,
  onPlace: (place: BlobPlace) => Promise<void> | void,
): Promise<void> {
  const { nextPack, packs } = snapshot.tails;
  const lengths = new Map(packs.map((pack) => [pack.number, pack.length]));
  let count = 0;
  for (const place of core.index.walkBlobs()) {
    count += 1;
    if (count % STEP === 0) await findings.rest(0, 'index');
    if (place.pack >= nextPack || place.offset >= (lengths.get(place.pack) ?? Infinity)) continue;
    const waiting = onPlace(place);
    if (waiting !== undefined) await waiting;
  }
}
