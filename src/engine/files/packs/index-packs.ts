import { BlobCodec } from '../../../format/blob-record.ts';
import { OPEN_FILE_HEADER_BYTES } from '../../../format/file-header.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { countOf, type Index } from '../index/store-index.ts';
import { type PackItem, packNumber, scanPack } from './pack-file.ts';

const PIECE_BYTES = 4 * 1024 * 1024;

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

export function indexPackItem(index: Index, pack: number, item: PackItem): void {
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
