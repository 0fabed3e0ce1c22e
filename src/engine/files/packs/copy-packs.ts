import type { ErasedRecord } from '../../../format/erased-record.ts';
import { corrupt } from '../disk/io-error.ts';
import { ERASED_FILE, readErased } from './erased-blobs.ts';
import {
  ALIAS_RECORDS,
  endOf,
  isJournaled,
  listPacks,
  namedPacks,
  packFile,
  packSize,
  readPackEnd,
} from './pack-file.ts';
import { readRecords, walkPack } from './walk-pack.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import {
  type CopiedPack,
  type Copy,
  type CopyJob,
  copyFilled,
  copySmall,
  type PackSpan,
} from '../truth/copy.ts';

export const COPY_PACKS: Copy = {
  async ahead(job) {
    await copySpans(job);
    await copyAliases(job);
  },
  async noted(job) {
    await copySpans(job);
    await copyAliases(job);
    await copyErased(job);
    await dropPacks(job);
  },
  after: copySpans,
};

/** Copies the records that the copy lacks. */
async function copySpans(job: CopyJob): Promise<void> {
  const { packs } = job.copied;
  for (const span of await listSpans(job)) {
    const have = packs.get(span.number);
    if (have?.closed === true) continue;
    await copyPack(job, span, have?.length ?? 0);
    packs.set(span.number, span);
    if (span.closed) await job.onClosed({ number: span.number, length: span.length });
  }
}

async function copyAliases(job: CopyJob): Promise<void> {
  const { name, bytes } = ALIAS_RECORDS;
  await copyFilled(job, { name, bytes, tail: 'nextAlias' });
}

/** Erases in the copy what was erased since it was made. */
async function copyErased(job: CopyJob): Promise<void> {
  const { from, into, copied, trusted } = job;
  await copyPlaces(job, readErased(from, copied.erased));
  // If the copy was opened, something may have been erased there that the store still has.
  if (trusted) await copyPlaces(job, readErased(into.files, copied.erased));
  await copySmall(job, ERASED_FILE);
}

async function copyPlaces(
  { from, into, copied }: CopyJob,
  places: AsyncIterable<ErasedRecord>,
): Promise<void> {
  for await (const { pack, offset, length } of places) {
    const end = copied.packs.get(pack)?.length ?? 0;
    if (offset + length > end || (await packSize(from, pack)) === 0) continue;
    await into.put(packFile(pack), offset, await from.read(packFile(pack), offset, length));
  }
}

/** Removes packs that the store has dropped. */
async function dropPacks({ from, into, copied }: CopyJob): Promise<void> {
  const living = new Set(await listPacks(from));
  for (const number of await listPacks(into.files)) {
    if (living.has(number) && copied.packs.has(number)) continue;
    await into.remove(packFile(number));
  }
  for (const number of copied.packs.keys()) if (!living.has(number)) copied.packs.delete(number);
}

/** Lists every pack that counts in the store. Does not look up the lengths of closed packs that the copy has. */
async function listSpans({ from, tails, copied }: CopyJob): Promise<PackSpan[]> {
  const spans = await namedPacks(from, tails, async (number) => {
    const have = copied.packs.get(number);
    return have?.closed ? have.length : closedLength(from, number);
  });
  const missing = tails.packs.find(({ number }) => !spans.some((span) => span.number === number));
  if (missing !== undefined) throw corrupt(packFile(missing.number), 0, 'the pack is missing');
  return spans;
}

/** Copies whole, intact records from `start` to the end of the span. */
async function copyPack(
  { from, into, progress }: CopyJob,
  { number, length }: CopiedPack,
  start: number,
): Promise<void> {
  const name = packFile(number);
  let end = start;
  for await (const { offset, bytes } of readRecords(from, number, { from: start, to: length })) {
    await into.put(name, offset, bytes);
    end = offset + bytes.length;
    progress?.(end - start, length - start, name);
  }
  if (end < length) throw corrupt(name, end, 'the blob record here is damaged');
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
