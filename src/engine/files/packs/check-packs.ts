import { BlobCodec } from '../../../format/blob-record.ts';
import { packFile } from './pack-file.ts';
import type { Check } from '../truth/check.ts';
import { checkPack } from './check-pack.ts';
import { checkChunkLists, type ListPlace } from './check-chunk-lists.ts';
import { comparePlaces, type Suspect } from './compare-places.ts';
import { staleIndex } from '../truth/findings.ts';
import { eachPlace } from './each-place.ts';
import { KnownBlobs } from './known-blobs.ts';
import { findNamedPacks } from './named-packs.ts';
import { PlaceSum } from './place-sum.ts';

/** Checks every pack, whether the index has exactly the places that the packs have, and then all chunk lists. */
export async function checkPacks(check: Check): Promise<void> {
  const lists = await checkPlaces(check);
  await checkChunkLists(check, lists);
}

/** Returns the places of chunk lists, which can be checked once all chunks have been. */
async function checkPlaces(check: Check): Promise<readonly ListPlace[]> {
  const { findings, snapshot } = check;
  const lists: ListPlace[] = [];
  const indexed = await sumIndex(check, lists);
  const packs = await findNamedPacks(check, (pack) => indexed.has(pack));
  const suspects = new Map<number, Suspect>();
  let blobBytes = 0;
  let storedBytes = 0;
  for (const pack of packs) {
    const result = await checkPack(check, pack);
    blobBytes += result.blobBytes;
    storedBytes += result.storedBytes;
    const known = indexed.get(pack.number) ?? new PlaceSum();
    indexed.delete(pack.number);
    if (!known.isSame(result.sum) || result.bad.length > 0) {
      suspects.set(pack.number, { length: pack.length, bad: result.bad });
    }
  }
  for (const number of missingPacks(check, packs, indexed)) addMissing(check, number);
  if (suspects.size > 0) {
    await comparePlaces(check, suspects);
    return lists;
  }
  const { totals } = snapshot;
  const { blobs } = findings.counts;
  const right =
    totals.blobs === blobs && totals.blobBytes === blobBytes && totals.storedBytes === storedBytes;
  if (!right && indexed.size === 0) {
    findings.add(staleIndex('the index counts blobs, or their bytes, wrongly'));
  }
  return lists;
}

async function sumIndex(check: Check, lists: ListPlace[]): Promise<Map<number, PlaceSum>> {
  const sums = new Map<number, PlaceSum>();
  const known = new KnownBlobs(check.snapshot.totals.blobs);
  await eachPlace(check, (place) => {
    const { pack, offset, storedLength, codec } = place;
    let sum = sums.get(pack);
    if (sum === undefined) sums.set(pack, (sum = new PlaceSum()));
    sum.add(place);
    known.add(place.hash, place.rawLength);
    if (codec === BlobCodec.chunks) lists.push({ pack, offset, storedLength });
  });
  known.seal();
  check.blobs.known = known;
  return sums;
}

/** Packs that must exist: packs that are still written to, and packs that the index has places in. */
function missingPacks(
  { core, snapshot }: Check,
  packs: readonly { readonly number: number }[],
  indexed: ReadonlyMap<number, PlaceSum>,
): Set<number> {
  const there = new Set(packs.map((pack) => pack.number));
  const open = snapshot.tails.packs.map((pack) => pack.number);
  // A frame after the snapshot names this pack, so it is not part of this check.
  const young = new Set(core.tails.packs.map((pack) => pack.number));
  const used = [...indexed.keys()].filter((number) => !young.has(number));
  return new Set([...open, ...used].filter((number) => !there.has(number)));
}

function addMissing({ findings, blobs }: Check, number: number): void {
  blobs.missingPacks.add(number);
  const what = 'the pack is missing';
  findings.add({ what, file: packFile(number), offset: 0, severity: 'lost', length: 0 });
}
