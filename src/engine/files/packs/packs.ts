import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { countOf, type Index } from '../index/store-index.ts';
import { checkAliases, checkPacks } from './check-packs.ts';
import { checkErased, ERASED_FILE, readErased } from './erased-blobs.ts';
import {
  ALIAS_RECORDS,
  endOf,
  isJournaled,
  listPacks,
  namedPacks,
  packFile,
  type PackItem,
  packNumber,
  PACKS_FOLDER,
  packSize,
  readPackEnd,
  scanPack,
  withPack,
} from './pack-file.ts';
import { readRecords, walkPack } from './walk-pack.ts';
import { checkLengths } from '../truth/check.ts';
import { type CopiedPack, type CopyJob, copySmall, type PackSpan } from '../truth/copy.ts';
import type { PackTail, Tails } from '../truth/state.ts';
import { cannot, type Rebuild, type Truth } from '../truth/truth.ts';
import { BlobCodec, encodePackEnd, PACK_END_BYTES } from '../../../format/blob-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';

// Blobs: packs of records, the SHA-256 names of some of them, and which were erased.    docs/format/blobs.md
// Invariants
// - Records are only appended, and count up to the tail of their pack. A closed pack ends with an end record.
// - A record is overwritten in place only when its blob is erased, by one of the same length, and the erasure is
//   noted in the same frame. A pack goes only in one frame, after its living records were copied.
// - The bytes of a bulk pack are durable before the frame that names them.
// - A blob may have several records, and each is as good as the other.

export const PACKS: Truth = {
  name: 'packs',
  folders: [PACKS_FOLDER],
  files: [ALIAS_RECORDS.own],
  owns: (path) => path === ERASED_FILE || packNumber(path) !== undefined,
  *lengths(tails) {
    yield ALIAS_RECORDS.lengthBy(tails);
    for (const { number, bulk, length } of tails.packs) if (!bulk) yield [packFile(number), length];
  },
  advance: advancePacks,
  replay({ index, files }, write) {
    if (write.path === ALIAS_RECORDS.name) {
      for (const { sha256, hash } of ALIAS_RECORDS.inWrite(write)) index.addSha256(sha256, hash);
    }
    return write.kind === 'extent'
      ? indexExtent(files, index, write)
      : indexPackWrite(index, write);
  },
  async rebuild(rebuild) {
    await ALIAS_RECORDS.rebuild(rebuild, 'aliases', (alias) => {
      if (alias !== undefined) rebuild.index.addSha256(alias.sha256, alias.hash);
      return alias !== undefined;
    });
    await rebuildPacks(rebuild);
  },
  async check(check) {
    await checkLengths(check, PACKS.lengths(check.snapshot.tails));
    await checkErased(check);
    await checkPacks(check);
    await checkAliases(check);
  },
  mend: cannot('no other truth knows the bytes of a blob'),
  copy: { when: 'after', run: copyPacks },
};

function advancePacks(tails: Tails, write: JournalWrite): Tails {
  const number = packNumber(write.path);
  if (write.kind === 'extent' && number !== undefined) {
    const records = tails.packs.find((pack) => pack.number === number)?.records ?? 0;
    const length = write.offset + write.length;
    return withPack(tails, number, { number, bulk: true, length, records });
  }
  if (write.path === ALIAS_RECORDS.name) return ALIAS_RECORDS.advance(tails, write);
  if (write.kind !== 'bytes' || number === undefined) return tails;
  return growPack(tails, number, write.offset, write.data);
}

function growPack(tails: Tails, number: number, offset: number, data: Uint8Array): Tails {
  const before: PackTail | undefined = tails.packs.find((pack) => pack.number === number);
  // Erasing overwrites records in place: the end of no pack moves, and a closed pack stays closed.
  const inside = before === undefined ? offset > 0 : offset < before.length;
  if (inside) return tails;
  let records = before?.records ?? 0;
  let bulk = before?.bulk ?? false;
  for (const item of scanPack(data, offset)) {
    if (item.kind === 'blob') records += 1;
    if (item.kind === 'header') bulk = item.bulk;
    if (item.kind === 'end') return withPack(tails, number, undefined);
  }
  return withPack(tails, number, { number, bulk, length: offset + data.length, records });
}

/** Indexes one write of a frame to a pack, except for the extents of bulk packs. */
export function indexPackWrite(index: Index, write: JournalWrite): void {
  const pack = packNumber(write.path);
  if (pack === undefined) return;
  if (write.kind === 'remove') indexRemoval(index, pack);
  if (write.kind !== 'bytes') return;
  for (const item of scanPack(write.data, write.offset)) indexPackItem(index, pack, item);
}

/** Indexes bytes that were written directly to a bulk pack. */
async function indexExtent(
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
  for (const place of index.flushed().walkBlobs()) {
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

async function copyPacks(job: CopyJob): Promise<void> {
  await copyErased(job);
  await ALIAS_RECORDS.copy(job);
  for (const span of await listSpans(job)) await copyPack(job, span);
  await dropPacks(job);
}

/** Erases in the packs of the copy what was erased since they were made. Packs never change while they are copied. */
async function copyErased(job: CopyJob): Promise<void> {
  const { from, into, earlier, packs } = job;
  // If the copy was opened, something may have been erased there that the store still has.
  for (const files of [from, into.files]) {
    for await (const { pack, offset, length } of readErased(files, earlier.erased)) {
      const end = packs.get(pack)?.length ?? 0;
      if (offset + length > end || (await packSize(from, pack)) === 0) continue;
      await into.put(packFile(pack), offset, await from.read(packFile(pack), offset, length));
    }
  }
  await copySmall(job, ERASED_FILE);
}

/** Removes packs that the store has dropped. */
async function dropPacks({ from, into, packs }: CopyJob): Promise<void> {
  const living = new Set(await listPacks(from));
  for (const number of await listPacks(into.files)) {
    if (!living.has(number) || !packs.has(number)) await into.remove(packFile(number));
  }
  for (const number of packs.keys()) if (!living.has(number)) packs.delete(number);
}

/** Lists every pack that counts in the store. Does not look up the lengths of closed packs that the copy has. */
async function listSpans({ from, tails, packs }: CopyJob): Promise<PackSpan[]> {
  const spans = await namedPacks(from, tails, async (number) => {
    const have = packs.get(number);
    return have?.closed ? have.length : closedLength(from, number);
  });
  const missing = tails.packs.find(({ number }) => !spans.some((span) => span.number === number));
  if (missing !== undefined) throw corrupt(packFile(missing.number), 0, 'the pack is missing');
  return spans;
}

/** Copies the records that the copy lacks. */
async function copyPack(job: CopyJob, span: PackSpan): Promise<void> {
  const { into, packs } = job;
  const { number, length } = span;
  const start = packs.get(number)?.length ?? 0;
  const pieces = readSpan(job, span, start);
  if (start === 0) await into.create(packFile(number), pieces);
  else if (start < length) await into.stream(packFile(number), start, pieces);
  packs.set(number, span);
}

/** Whole, intact records from `start` to the end of the span. */
async function* readSpan(
  { from, progress }: CopyJob,
  { number, length }: CopiedPack,
  start: number,
): AsyncGenerator<Uint8Array> {
  let end = start;
  for await (const { offset, bytes } of readRecords(from, number, { from: start, to: length })) {
    yield bytes;
    end = offset + bytes.length;
    progress?.(end - start, length - start, packFile(number));
  }
  if (end < length) throw corrupt(packFile(number), end, 'the blob record here is damaged');
}

/**
 * The end of a pack without a tail. Undefined for a bulk pack that has no end: a put that never finished left it,
 * or a put is writing to it right now.
 */
async function closedLength(files: StoreFiles, number: number): Promise<number | undefined> {
  const size = await packSize(files, number);
  if ((await readPackEnd(files, number, size)) !== undefined) return size;
  // A failed put may have left bytes behind the end of a bulk pack.
  let found: number | undefined;
  await walkPack(files, number, size, (item) => {
    if (item.kind === 'end') found = endOf(item);
  });
  if (found !== undefined) return found;
  if (await isJournaled(files, number))
    throw corrupt(packFile(number), size, 'the pack lost its end');
  return undefined;
}
