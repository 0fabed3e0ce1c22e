import { BlobCodec } from '../../../format/blob-record.ts';
import { OPEN_FILE_HEADER_BYTES } from '../../../format/file-header.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { PACK_END_BYTES, encodePackEnd } from '../../../format/pack-end.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { countOf, type Index } from '../index/store-index.ts';
import type { Rebuild } from '../truth/rebuild.ts';
import { listPacks, packFile, type PackItem, packNumber, scanPack } from './pack-file.ts';

const PIECE_BYTES = 4 * 1024 * 1024;

/** No record is longer: the chunk list of the largest possible blob has at most 19 MB. */
const RECORD_BYTES_MAX = 32 * 1024 * 1024;

/** The first bytes of every blob record on disk. */
const MAGIC = Buffer.from('424c5342', 'hex');

/** Indexes one write of a frame to a pack, except for the extents of bulk packs. */
export function indexPackWrite(index: Index, write: JournalWrite): void {
  const pack = packNumber(write.path);
  if (pack === undefined) return;
  if (write.kind === 'remove') indexRemoval(index, pack);
  if (write.kind !== 'bytes') return;
  for (const item of scanPack(write.data, write.offset)) indexPackItem(index, pack, item);
}

/** Indexes bytes that were written directly to a bulk pack. */
export async function indexExtent(
  files: StoreFiles,
  index: Index,
  { path, offset, length }: JournalWrite & { kind: 'extent' },
): Promise<void> {
  const pack = packNumber(path);
  if (pack === undefined) return;
  let at = offset;
  while (at < offset + length) {
    const piece = await files.read(path, at, Math.min(PIECE_BYTES, offset + length - at));
    const start = at;
    for (const item of scanPack(piece, at)) {
      indexPackItem(index, pack, item);
      if (item.kind === 'header') at += OPEN_FILE_HEADER_BYTES;
      if (item.kind === 'blob') at = item.offset + item.bytes;
    }
    if (at === start) return;
  }
}

function indexPackItem(index: Index, pack: number, item: PackItem): void {
  if (item.kind !== 'blob') return;
  const { hash, offset, rawLength, storedLength, codec } = item;
  if (codec === BlobCodec.erased) {
    const place = index.findBlob(hash);
    // The place was removed before, or never existed: a rebuilt index sees the record as it is now.
    if (place?.pack === pack && place.offset === offset) index.forgetBlobs([place]);
    return;
  }
  const place = { hash, pack, offset, rawLength, storedLength, codec };
  index.addBlob(place);
  index.count(countOf(place, 1));
}

/** Happens rarely, after a crash in a collection. So the content of the pack is summed up only when needed. */
function indexRemoval(index: Index, pack: number): void {
  for (const place of index.walkBlobs()) {
    if (place.pack === pack) index.count(countOf(place, -1));
  }
  index.dropPack(pack);
}

type PacksRebuild = Omit<Rebuild, 'newest'>;

export async function rebuildPacks(rebuild: PacksRebuild): Promise<void> {
  const { files, tails, index } = rebuild;
  // Packs from `nextPack` on were begun after the last frame: nothing in them counts.
  const numbers = (await listPacks(files)).filter((number) => number < tails.nextPack);
  for (const [done, number] of numbers.entries()) {
    const open = tails.packs.find((pack) => pack.number === number);
    // A bulk pack that no frame ever named was left by an unfinished put.
    if (open === undefined && !(await isClosed(rebuild, number))) continue;
    const length = open?.length ?? (await files.size(packFile(number)));
    await rebuildPack(rebuild, number, length);
    index.maybeFlush();
    rebuild.progress?.(done + 1, numbers.length, 'packs');
  }
  for (const pack of tails.packs) {
    if (numbers.includes(pack.number)) continue;
    const what = 'the pack is missing';
    rebuild.damage.add({ area: 'blobs', file: packFile(pack.number), offset: 0, what });
  }
}

/**
 * A pack without a tail was closed, unless it is an abandoned bulk pack. Such a pack has no end record, and not
 * even a whole header when power was cut early. A damaged end record still counts as an end: otherwise everything
 * in the pack would read as missing.
 */
async function isClosed({ files, isUsed }: PacksRebuild, number: number): Promise<boolean> {
  const [header] = scanPack(await files.read(packFile(number), 0, OPEN_FILE_HEADER_BYTES), 0);
  if (header?.kind === 'header' && !header.bulk) return true;
  let closed = false;
  const size = await files.size(packFile(number));
  await walkPack(files, number, size, async (item) => {
    if (item.kind === 'end') closed = true;
    if (item.kind !== 'bad') return;
    const bytes = await files.read(packFile(number), item.offset, PACK_END_BYTES);
    closed ||= resemblesEnd(bytes, item.offset);
  });
  return closed || isUsed(number);
}

/** True when most bytes match the end record of a bulk pack at that offset. Zeros prove nothing. */
function resemblesEnd(bytes: Uint8Array, offset: number): boolean {
  const end = encodePackEnd({ count: 0, length: offset });
  const telling = [...end.keys()].filter((at) => end[at] !== 0);
  return telling.filter((at) => bytes[at] === end[at]).length > telling.length / 2;
}

async function rebuildPack(rebuild: PacksRebuild, number: number, length: number): Promise<void> {
  const { files, index, damage } = rebuild;
  await walkPack(files, number, length, (item) => {
    indexPackItem(index, number, item);
    index.maybeFlush();
    if (item.kind !== 'bad') return;
    const what = 'the blob record here is damaged';
    damage.add({ area: 'blobs', file: packFile(number), offset: item.offset, what });
  });
}

/** Called for every record in order. The walk awaits the result. */
export type OnPackItem = (item: PackItem) => void | Promise<void>;

/**
 * Walks every record up to `length`. After a bad record the walk continues at the next bytes that read as a record.
 */
export async function walkPack(
  files: StoreFiles,
  number: number,
  length: number,
  onItem: OnPackItem,
): Promise<void> {
  let offset = 0;
  let pieceBytes = PIECE_BYTES;
  while (offset < length) {
    const piece = await files.read(packFile(number), offset, Math.min(pieceBytes, length - offset));
    const atEnd = offset + piece.length >= length;
    const { next, bad, ended } = await takePiece(piece, offset, onItem);
    if (ended) return;
    if (!bad) {
      offset = next;
    } else if (!atEnd && next === offset && pieceBytes < RECORD_BYTES_MAX) {
      // This is a record longer than the piece, or damage. More bytes will tell.
      pieceBytes *= 2;
    } else if (!atEnd && next > offset) {
      offset = next;
    } else {
      await onItem({ kind: 'bad', offset: next });
      offset = await nextRecord(files, number, next + 1, length);
      pieceBytes = PIECE_BYTES;
    }
  }
}

async function takePiece(
  piece: Uint8Array,
  offset: number,
  onItem: OnPackItem,
): Promise<{ next: number; bad: boolean; ended: boolean }> {
  let next = offset;
  if (piece.length === 0) return { next, bad: true, ended: false };
  for (const item of scanPack(piece, offset)) {
    if (item.kind === 'bad') return { next: item.offset, bad: true, ended: false };
    const taken = onItem(item);
    if (taken !== undefined) await taken;
    if (item.kind === 'end') return { next, bad: false, ended: true };
    next = item.kind === 'header' ? OPEN_FILE_HEADER_BYTES : item.offset + item.bytes;
  }
  return { next, bad: false, ended: false };
}

/** The next offset from `from` on where a whole record can be read; `length` when there is none. */
async function nextRecord(
  files: StoreFiles,
  number: number,
  from: number,
  length: number,
): Promise<number> {
  for (let at = from; at < length; at += PIECE_BYTES) {
    const piece = await files.read(packFile(number), at, Math.min(2 * PIECE_BYTES, length - at));
    let found = Buffer.from(piece.buffer, piece.byteOffset, piece.length).indexOf(MAGIC);
    while (found !== -1 && found < PIECE_BYTES) {
      const [item] = scanPack(piece.subarray(found), Math.max(1, at + found));
      if (item?.kind === 'blob') return at + found;
      found = Buffer.from(piece.buffer, piece.byteOffset, piece.length).indexOf(MAGIC, found + 1);
    }
  }
  return length;
}
