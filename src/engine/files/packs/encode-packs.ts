import type { Hash } from '../../../base/brand.ts';
import {
  BLOB_OVERHEAD_BYTES,
  encodeBlobRecord,
  type PreparedBlob,
} from '../../../format/blob-record.ts';
import {
  encodeFileHeader,
  FILE_MAGIC,
  OPEN_FILE_HEADER_BYTES,
  PackKind,
} from '../../../format/file-header.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { encodePackEnd } from '../../../format/pack-end.ts';
import { packFile } from './pack-file.ts';
import type { PackTail, Tails } from '../truth/state.ts';
import type { Draft } from '../../plan/draft.ts';
import type { ChunkPlace } from '../../plan/prepared-batch.ts';

/** A pack is closed at this size; the next record starts a new one. */
export const PACK_BYTES: number = 256 * 1024 * 1024;

export interface BlobPlaced extends ChunkPlace {
  readonly pack: number;
}

interface EncodedPacks {
  readonly writes: readonly JournalWrite[];
  readonly placed: readonly BlobPlaced[];
  readonly tails: Tails;
}

/** The group's small blobs go to the open pack. Large blobs are already in bulk packs. */
export function encodePacks(draft: Draft, tails: Tails, newPack: () => number): EncodedPacks {
  const bulk = encodeExtents(draft, tails);
  const blobs = [...draft.blobs.entries()];
  if (blobs.length === 0) return bulk;
  const { pack, opening } = choosePack(bulk.tails, newPack);
  const placed = [...bulk.placed];
  const data = Buffer.allocUnsafe(blobs.reduce(addRecordBytes, opening.header.length));
  data.set(opening.header);
  let at = opening.header.length;
  for (const [hash, { compressed }] of blobs) {
    const { codec, rawLength, stored } = compressed;
    const end = at + BLOB_OVERHEAD_BYTES + stored.length;
    encodeBlobRecord({ codec, rawLength, hash, stored }, data, at);
    const offset = pack.length + at;
    const storedLength = stored.length;
    placed.push({ hash, pack: pack.number, offset, codec, rawLength, storedLength });
    at = end;
  }
  const length = pack.length + data.length;
  const grown: PackTail = { ...pack, length, records: pack.records + blobs.length };
  const path = packFile(pack.number);
  const bytes: JournalWrite = { kind: 'bytes', path, offset: pack.length, data };
  return {
    writes: [...bulk.writes, ...opening.writes, bytes],
    placed,
    tails: withPack(opening.tails, pack.number, grown),
  };
}

function addRecordBytes(sum: number, [, { compressed }]: [Hash, PreparedBlob]): number {
  return sum + BLOB_OVERHEAD_BYTES + compressed.stored.length;
}

function encodeExtents(draft: Draft, before: Tails): EncodedPacks {
  const writes: JournalWrite[] = [];
  const placed: BlobPlaced[] = [];
  let tails = before;
  for (const { pack: number, offset, length, chunks } of draft.extents) {
    const pack: PackTail = { number, bulk: true, length: offset + length, records: 0 };
    const full = pack.length >= PACK_BYTES;
    writes.push({ kind: 'extent', path: packFile(number), offset, length });
    if (full) writes.push(closePack(pack));
    tails = withPack(tails, number, full ? undefined : pack);
    for (const chunk of chunks) placed.push({ ...chunk, pack: number });
  }
  return { writes, placed, tails };
}

interface Opening {
  readonly writes: readonly JournalWrite[];
  /** The header of a new pack. Empty for an existing pack. */
  readonly header: Uint8Array;
  readonly tails: Tails;
}

function choosePack(tails: Tails, newPack: () => number): { pack: PackTail; opening: Opening } {
  const open = tails.packs.find((pack) => !pack.bulk);
  if (open !== undefined && open.length < PACK_BYTES) {
    return { pack: open, opening: { writes: [], header: new Uint8Array(), tails } };
  }
  const pack: PackTail = { number: newPack(), bulk: false, length: 0, records: 0 };
  const header = encodePackHeader(pack.number, PackKind.journaled);
  const writes = open === undefined ? [] : [closePack(open)];
  const closed = open === undefined ? tails : withPack(tails, open.number, undefined);
  return { pack, opening: { writes, header, tails: closed } };
}

export function encodePackHeader(number: number, kind: number): Uint8Array {
  return encodeFileHeader(
    { magic: FILE_MAGIC.pack, recordBytes: 0, kind, number },
    OPEN_FILE_HEADER_BYTES,
  );
}

/** Tells a closed pack from one that lost its end. Bulk packs are not counted. */
export function closePack(pack: Omit<PackTail, 'bulk'>): JournalWrite {
  const data = encodePackEnd({ count: pack.records, length: pack.length });
  return { kind: 'bytes', path: packFile(pack.number), offset: pack.length, data };
}

/** Replaces the tail of one pack, or drops it when the pack is closed. */
export function withPack(tails: Tails, number: number, pack: PackTail | undefined): Tails {
  const others = tails.packs.filter((known) => known.number !== number);
  if (pack !== undefined) others.push(pack);
  return { ...tails, nextPack: Math.max(tails.nextPack, number + 1), packs: others };
}
