import {
  BLOB_HEADER_BYTES,
  BLOB_OVERHEAD_BYTES,
  BlobCodec,
  decodeBlobHeader,
} from '../../../format/blob-record.ts';
import type { BlobPlace } from '../index/shelf.ts';
import { packFile } from './pack-file.ts';
import { walkPack } from './rebuild-packs.ts';
import type { Check } from '../truth/check.ts';
import type { BadRange } from './check-pack.ts';
import { eachPlace } from './each-place.ts';
import { type Found, staleIndex } from '../truth/findings.ts';

/** A pack that the index disagrees with, or that has damaged records. */
export interface Suspect {
  readonly length: number;
  readonly bad: readonly BadRange[];
}

/** Finds the places that differ, one by one. Slow, and only for packs with a problem. */
export async function comparePlaces(
  check: Check,
  suspects: ReadonlyMap<number, Suspect>,
): Promise<void> {
  const told = await checkIndexedPlaces(check, suspects);
  for (const [number, { length, bad }] of suspects) {
    for (const { offset, end } of bad) {
      const isTold = told.has(placeKey(number, offset));
      if (!isTold) check.findings.add(damagedRecord(number, offset, end - offset));
    }
    await checkRecords(check, number, length);
  }
}

/**
 * Checks that every place in the index is a record, or was one that is damaged now. Returns the damaged places that
 * could be reported together with their hash.
 */
async function checkIndexedPlaces(
  check: Check,
  suspects: ReadonlyMap<number, Suspect>,
): Promise<Set<string>> {
  const told = new Set<string>();
  await eachPlace(check, async (place) => {
    const suspect = suspects.get(place.pack);
    if (suspect === undefined) return;
    const { pack, offset, hash } = place;
    const range = suspect.bad.find((bad) => offset >= bad.offset && offset < bad.end);
    if (range === undefined) {
      await checkPlace(check, place);
      return;
    }
    noteUnreadable(check, place);
    const length = Math.min(range.end - offset, BLOB_OVERHEAD_BYTES + place.storedLength);
    check.findings.add({ ...damagedRecord(pack, offset, length), id: hash });
    told.add(placeKey(pack, offset));
  });
  return told;
}

async function checkPlace(check: Check, place: BlobPlace): Promise<void> {
  const { files, findings } = check;
  const bytes = await files.read(packFile(place.pack), place.offset, BLOB_HEADER_BYTES);
  const header = decodeBlobHeader(bytes);
  const same =
    header?.hash === place.hash &&
    header.rawLength === place.rawLength &&
    header.storedLength === place.storedLength &&
    header.codec === place.codec;
  if (same) return;
  findings.add(staleIndex('the index has a blob where none is', place.hash));
  noteUnreadable(check, place);
}

/** Checks that every record is found by its hash, here or at another place that is as good. */
async function checkRecords(check: Check, number: number, length: number): Promise<void> {
  const { core, files, findings, blobs } = check;
  await walkPack(files, number, length, (item) => {
    if (item.kind !== 'blob' || item.codec === BlobCodec.erased) return;
    const { hash, offset } = item;
    const best = core.index.findBlob(hash);
    // A finding about this very record stays. A record that the index wrongly has elsewhere is found here.
    const isHere = best?.pack === number && best.offset === offset;
    if (isHere || (best !== undefined && !blobs.unreadable.has(hash))) return;
    blobs.unreadable.delete(hash);
    blobs.unindexed.add(hash);
    findings.add(staleIndex('the index does not know this blob', item.hash));
  });
}

/** Readers of this blob fail, unless the index leads them to another place. */
function noteUnreadable({ core, blobs }: Check, { hash, pack, offset }: BlobPlace): void {
  const best = core.index.findBlob(hash);
  if (best?.pack === pack && best.offset === offset) blobs.unreadable.add(hash);
}

function damagedRecord(pack: number, offset: number, length: number): Found {
  const what = 'the record here is damaged';
  return { what, file: packFile(pack), offset, severity: 'lost', length };
}

function placeKey(pack: number, offset: number): string {
  return `${pack} ${offset}`;
}
