import {
  ALIAS_RECORD_BYTES,
  type AliasRecord,
  BLOB_HEADER_BYTES,
  BLOB_OVERHEAD_BYTES,
  type BlobCodecNumber,
  decodeAliasRecord,
  decodeBlobHeader,
  decodePackEnd,
  encodeBlobRecord,
  encodePackEnd,
  PACK_END_BYTES,
  type PackEnd,
  type PreparedBlob,
} from '../../../format/blob-record.ts';
import { listFolder } from '../disk/folders.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Hash } from '../../../base/brand.ts';
import { CRC_BYTES, isSealed, toBuffer } from '../../../format/bytes.ts';
import {
  FILE_MAGIC,
  OPEN_FILE_HEADER_BYTES,
  PackKind,
  decodeFileHeader,
  encodeFileHeader,
} from '../../../format/file-header.ts';
import type { PackSpan } from '../truth/copy.ts';
import { RecordFile } from '../truth/record-file.ts';
import type { Tails, PackTail } from '../truth/state.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { Draft } from '../../plan/draft.ts';
import type { ChunkPlace } from '../../plan/prepared-batch.ts';

export const PACKS_FOLDER = 'blobs';
/** The SHA-256 names of blobs. A record does not say its number. */
export const ALIAS_RECORDS: RecordFile<AliasRecord> = new RecordFile({
  name: 'blobs/aliases.log',
  magic: FILE_MAGIC.aliases,
  bytes: ALIAS_RECORD_BYTES,
  tail: 'nextAlias',
  what: 'the record of SHA-256',
  decode: decodeAliasRecord,
  has: () => true,
});

export function packFile(number: number): string {
  return `${PACKS_FOLDER}/pack-${String(number).padStart(6, '0')}.pack`;
}

export async function packSize(files: StoreFiles, number: number): Promise<number> {
  return files.size(packFile(number));
}

/** The bytes of the packs, including those that no record takes. */
export async function packBytes(files: StoreFiles): Promise<number> {
  let bytes = 0;
  for (const number of await listPacks(files)) bytes += await packSize(files, number);
  return bytes;
}

export async function listPacks(files: StoreFiles): Promise<number[]> {
  const names = await listFolder(files, PACKS_FOLDER);
  return names.flatMap((name) => packNumber(`${PACKS_FOLDER}/${name}`) ?? []).sort((a, b) => a - b);
}

/**
 * The packs that count by `tails`. Packs from `nextPack` on were begun after the last frame. `closedLength` is asked for
 * the end of a pack without a tail. It answers undefined for a bulk pack that an unfinished put left, or is writing to.
 */
export async function namedPacks(
  files: StoreFiles,
  tails: Tails,
  closedLength: (number: number) => Promise<number | undefined>,
): Promise<PackSpan[]> {
  const named: PackSpan[] = [];
  for (const number of await listPacks(files)) {
    if (number >= tails.nextPack) continue;
    const open = tails.packs.find((pack) => pack.number === number);
    const length = open === undefined ? await closedLength(number) : open.length;
    if (length !== undefined) named.push({ number, length, closed: open === undefined });
  }
  return named;
}

/** True for a pack whose header says that its records went through the journal. */
export async function isJournaled(files: StoreFiles, number: number): Promise<boolean> {
  const header = decodeFileHeader(await files.read(packFile(number), 0, OPEN_FILE_HEADER_BYTES));
  return header?.magic === FILE_MAGIC.pack && header.kind === PackKind.journaled;
}

/** The end record of a pack with this many bytes. Undefined when they end with something else. */
export async function readPackEnd(
  files: StoreFiles,
  number: number,
  length: number,
): Promise<PackEnd | undefined> {
  const offset = Math.max(0, length - PACK_END_BYTES);
  const end = decodePackEnd(await files.read(packFile(number), offset, length - offset));
  return end?.length === offset ? end : undefined;
}

/** Removes a pack that no frame names. */
export async function removeUnnamed(files: StoreFiles, number: number): Promise<void> {
  await files.io.remove(files.pathOf(packFile(number)));
}

/** The number of a pack file; undefined for any other name. */
export function packNumber(name: string): number | undefined {
  const match = /^blobs\/pack-(\d{6,})\.pack$/.exec(name);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

export type PackItem =
  | { readonly kind: 'header'; readonly bulk: boolean }
  | {
      readonly kind: 'blob';
      readonly offset: number;
      readonly bytes: number;
      readonly hash: Hash;
      readonly codec: BlobCodecNumber;
      readonly rawLength: number;
      readonly storedLength: number;
      /** The stored bytes, for chunk lists. */
      readonly stored: Uint8Array;
    }
  | { readonly kind: 'end'; readonly length: number }
  /** The bytes from here on are not a whole intact record. */
  | { readonly kind: 'bad'; readonly offset: number };

export type IntactItem = Exclude<PackItem, { kind: 'bad' }>;

/** The place behind an item. */
export function endOf(item: IntactItem): number {
  if (item.kind === 'header') return OPEN_FILE_HEADER_BYTES;
  return item.kind === 'blob' ? item.offset + item.bytes : item.length + PACK_END_BYTES;
}

/** Walks the records in `bytes`, which start at `start` of a pack. Stops at the first bad record. */
export function* scanPack(bytes: Uint8Array, start: number): Generator<PackItem> {
  let at = 0;
  if (start === 0 && bytes.length > 0) {
    const header = decodeFileHeader(bytes.subarray(0, OPEN_FILE_HEADER_BYTES));
    if (header === undefined || header.magic !== FILE_MAGIC.pack) {
      yield { kind: 'bad', offset: 0 };
      return;
    }
    yield { kind: 'header', bulk: header.kind === 1 };
    at = OPEN_FILE_HEADER_BYTES;
  }
  while (at < bytes.length) {
    const item = packItemAt(bytes, at, start);
    yield item;
    if (item.kind !== 'blob') return;
    at += item.bytes;
  }
}

function packItemAt(bytes: Uint8Array, at: number, start: number): PackItem {
  const bad: PackItem = { kind: 'bad', offset: start + at };
  const header = decodeBlobHeader(bytes.subarray(at, at + BLOB_HEADER_BYTES));
  if (header === undefined) {
    const end = decodePackEnd(bytes.subarray(at, at + PACK_END_BYTES));
    return end === undefined || end.length !== start + at
      ? bad
      : { kind: 'end', length: end.length };
  }
  const { hash, codec, rawLength, storedLength } = header;
  const length = BLOB_OVERHEAD_BYTES + storedLength;
  const end = at + length;
  if (end > bytes.length) return bad;
  const record = toBuffer(bytes.subarray(at, end));
  if (!isSealed(record)) return bad;
  const stored = record.subarray(BLOB_HEADER_BYTES, length - CRC_BYTES);
  return {
    kind: 'blob',
    offset: start + at,
    bytes: length,
    hash,
    codec,
    rawLength,
    storedLength,
    stored,
  };
}

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
  const { pack, ...opening } = choosePack(bulk.tails, newPack);
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

interface ChosenPack extends Pick<EncodedPacks, 'writes' | 'tails'> {
  readonly pack: PackTail;
  /** The header of a new pack. Empty for an existing pack. */
  readonly header: Uint8Array;
}

function choosePack(tails: Tails, newPack: () => number): ChosenPack {
  const open = tails.packs.find((pack) => !pack.bulk);
  if (open !== undefined && open.length < PACK_BYTES) {
    return { pack: open, writes: [], header: new Uint8Array(), tails };
  }
  const pack: PackTail = { number: newPack(), bulk: false, length: 0, records: 0 };
  const header = encodePackHeader(pack.number, PackKind.journaled);
  const writes = open === undefined ? [] : [closePack(open)];
  const closed = open === undefined ? tails : withPack(tails, open.number, undefined);
  return { pack, writes, header, tails: closed };
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
