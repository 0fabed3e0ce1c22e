import { decompress } from '../../../base/compress.ts';
import { hashBytes } from '../../../base/hash.ts';
import { BLOB_OVERHEAD_BYTES, BlobCodec, PACK_END_BYTES } from '../../../format/blob-record.ts';
import { OPEN_FILE_HEADER_BYTES, decodeFileHeader } from '../../../format/file-header.ts';
import type { BlobPlace, PlaceRef } from '../index/shelf.ts';
import { type Check, lost } from '../truth/check.ts';
import type { PackSpan } from '../truth/copy.ts';
import {
  isJournaled,
  namedPacks,
  packFile,
  type PackItem,
  packSize,
  readPackEnd,
} from './pack-file.ts';
import { eachPackItem } from './walk-pack.ts';

/** Bytes that are not an intact record. */
export interface BadRange {
  readonly offset: number;
  readonly end: number;
}

export interface PackResult {
  readonly sum: PlaceSum;
  readonly bad: readonly BadRange[];
  readonly blobBytes: number;
  readonly storedBytes: number;
}

type BlobItem = PackItem & { kind: 'blob' };

/**
 * Checks every byte of a pack: checksums, and the hash of each decompressed blob. Returns the damaged ranges. The
 * caller reports them, because it knows from the index which blobs were there.
 */
export async function checkPack(check: Check, pack: PackSpan): Promise<PackResult> {
  const { files, findings } = check;
  const bad: BadRange[] = [];
  const sum = new PlaceSum();
  let blobBytes = 0;
  let storedBytes = 0;
  let records = 0;
  let ended = false;
  let open: number | undefined;
  const endBad = (end: number): void => {
    if (open !== undefined) bad.push({ offset: open, end });
    open = undefined;
  };
  await eachPackItem(files, pack, (item) => {
    if (item.kind === 'bad') {
      endBad(item.offset);
      open = item.offset;
      return;
    }
    if (item.kind === 'header') return;
    endBad(item.kind === 'end' ? item.length : item.offset);
    if (item.kind === 'end') {
      ended = true;
      return;
    }
    records += 1;
    findings.read(item.bytes, 'blobs');
    if (!isRight(item)) addWrongBlob(check, pack.number, item);
    // An erased blob keeps its record and has no place in the index.
    if (item.codec === BlobCodec.erased) return;
    findings.counts.blobs += 1;
    blobBytes += item.rawLength;
    storedBytes += BLOB_OVERHEAD_BYTES + item.storedLength;
    sum.add(item);
  });
  endBad(pack.length);
  await checkEnds(check, pack, { ended, count: records, bad });
  return { sum, bad, blobBytes, storedBytes };
}

function isRight(item: BlobItem): boolean {
  switch (item.codec) {
    case BlobCodec.chunks:
      // A list is checked once all its chunks have been.
      return true;
    case BlobCodec.erased:
      return item.stored.every((byte) => byte === 0);
    case BlobCodec.raw:
      return item.rawLength === item.storedLength && hashBytes(item.stored) === item.hash;
    case BlobCodec.zstd:
      return isRightPacked(item);
  }
}

function isRightPacked({ stored, rawLength, hash }: BlobItem): boolean {
  try {
    return hashBytes(decompress(stored, rawLength)) === hash;
  } catch {
    // A stream that does not decompress is damaged, like one that gives other bytes.
    return false;
  }
}

function addWrongBlob(check: Check, pack: number, { hash, offset, bytes }: BlobItem): void {
  noteUnreadable(check, { hash, pack, offset });
  const what = 'the content of this blob does not match its hash';
  check.findings.add({ ...lost(packFile(pack), offset, what, bytes), id: hash });
}

/** Readers of this blob fail, unless the index leads them to another place. */
export function noteUnreadable({ core, blobs }: Check, place: PlaceRef): void {
  if (core.index.findsAt(place)) blobs.unreadable.add(place.hash);
}

/** The header names the pack. A closed pack has an end record with nothing behind it. */
async function checkEnds(
  { files, findings }: Check,
  pack: PackSpan,
  seen: { ended: boolean; count: number; bad: readonly BadRange[] },
): Promise<void> {
  const file = packFile(pack.number);
  const header = decodeFileHeader(await files.read(file, 0, OPEN_FILE_HEADER_BYTES));
  if (header !== undefined && header.number !== pack.number) {
    const what = `the header is that of pack ${header.number}`;
    findings.add(lost(file, 0, what, OPEN_FILE_HEADER_BYTES));
  }
  if (!pack.closed) return;
  const offset = pack.length - PACK_END_BYTES;
  const end = await readPackEnd(files, pack.number, pack.length);
  if (end === undefined) {
    const told = seen.bad.some((range) => range.end === pack.length);
    const what = seen.ended ? 'there are bytes behind the end of the pack' : 'the pack has no end';
    if (!told) findings.add(lost(file, pack.length, what));
    return;
  }
  // Bulk packs are not counted.
  const counted = header?.kind === 0 && seen.bad.length === 0;
  if (counted && end.count !== seen.count) {
    findings.add(lost(file, offset, `the pack should have ${end.count} blobs`, PACK_END_BYTES));
  }
}

// Tells whether two walks, in different orders, saw the same places. It compares the count and the sum of a 64-bit
// mix of each place, so ten million places take a few bytes. Blob hashes are random already, so the mix only ties
// them to their place. The sum finds damage and does not withstand forgery.

export class PlaceSum {
  #count = 0;
  #low = 0;
  #high = 0;

  add({ hash, offset, rawLength, storedLength, codec }: Omit<BlobPlace, 'pack'>): void {
    let low = parseInt(hash.slice(0, 8), 16) ^ (offset >>> 0);
    let high = parseInt(hash.slice(8, 16), 16) ^ Math.floor(offset / 2 ** 32) ^ codec;
    low = stir(low) ^ rawLength;
    high = stir(high ^ low) ^ storedLength;
    this.#count += 1;
    this.#low = (this.#low + stir(low ^ high)) >>> 0;
    this.#high = (this.#high + stir(high)) >>> 0;
  }

  isSame(other: PlaceSum): boolean {
    return this.#count === other.#count && this.#low === other.#low && this.#high === other.#high;
  }
}

/** The finaliser of MurmurHash3: every bit of the input changes about half of the output. */
function stir(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/**
 * The packs of the snapshot. Call this after the index was walked. `isUsed` tells which packs the index has places
 * in: a bulk pack without an end that is not used was left by an unfinished put.
 */
export async function findNamedPacks(
  check: Check,
  isUsed: (pack: number) => boolean,
): Promise<PackSpan[]> {
  const { core, files, snapshot } = check;
  return namedPacks(files, snapshot.tails, async (number) => {
    // The pack was begun before the snapshot, and a frame after the snapshot names it.
    if (core.tails.packs.some((pack) => pack.number === number)) return undefined;
    const length = await packSize(files, number);
    const isEnded = isUsed(number) || (await readPackEnd(files, number, length)) !== undefined;
    return isEnded || (await isJournaled(files, number)) ? length : undefined;
  });
}
