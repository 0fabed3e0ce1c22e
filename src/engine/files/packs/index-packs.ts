import { BlobCodec } from '../../../format/blob-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { PACK_END_BYTES, encodePackEnd } from '../../../format/pack-end.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { countOf, type Index } from '../index/store-index.ts';
import type { Rebuild } from '../truth/rebuild.ts';
import {
  isJournaled,
  namedPacks,
  packFile,
  type PackItem,
  packNumber,
  packSize,
  scanPack,
} from './pack-file.ts';
import { readRecords, walkPack } from './walk-pack.ts';

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
  for await (const { items } of readRecords(files, pack, { from: offset, to: offset + length })) {
    for (const item of items) indexPackItem(index, pack, item);
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
  // A bulk pack that no frame ever named was left by an unfinished put.
  const named = await namedPacks(files, tails, async (number) =>
    (await isClosed(rebuild, number)) ? packSize(files, number) : undefined,
  );
  for (const [done, { number, length }] of named.entries()) {
    await rebuildPack(rebuild, number, length);
    index.maybeFlush();
    rebuild.progress?.(done + 1, named.length, 'packs');
  }
  for (const pack of tails.packs) {
    if (named.some(({ number }) => number === pack.number)) continue;
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
  if (await isJournaled(files, number)) return true;
  let closed = false;
  const size = await packSize(files, number);
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
