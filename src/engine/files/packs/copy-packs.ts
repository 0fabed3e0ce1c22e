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
  copySmall,
  type PackSpan,
} from '../truth/copy.ts';

export const COPY_PACKS: Copy = {
  when: 'after',
  async run(job) {
    await copyErased(job);
    await ALIAS_RECORDS.copy(job);
    for (const span of await listSpans(job)) await copyPack(job, span);
    await dropPacks(job);
  },
};

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
