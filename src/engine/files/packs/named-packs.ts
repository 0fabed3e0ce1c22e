import { decodeFileHeader, OPEN_FILE_HEADER_BYTES, PackKind } from '../../../format/file-header.ts';
import { decodePackEnd, PACK_END_BYTES } from '../../../format/pack-end.ts';
import { packFile } from './pack-file.ts';
import { listPacks } from './rebuild-packs.ts';
import type { Check } from '../truth/check.ts';

/** A pack that counts, and the length that counts. */
export interface NamedPack {
  readonly number: number;
  /** Bytes that were in use at the snapshot. */
  readonly length: number;
  readonly closed: boolean;
}

/**
 * The packs of the snapshot. Call this after the index was walked. `isUsed` tells which packs the index has places
 * in: a bulk pack without an end that is not used was left by an unfinished put.
 */
export async function findNamedPacks(
  check: Check,
  isUsed: (pack: number) => boolean,
): Promise<NamedPack[]> {
  const { core, files, snapshot } = check;
  const named: NamedPack[] = [];
  for (const number of await listPacks(files)) {
    if (number >= snapshot.tails.nextPack) continue;
    const open = snapshot.tails.packs.find((pack) => pack.number === number);
    if (open !== undefined) {
      named.push({ number, length: open.length, closed: false });
      continue;
    }
    // The pack was begun before the snapshot, and a frame after the snapshot names it.
    if (core.tails.packs.some((pack) => pack.number === number)) continue;
    const length = await files.size(packFile(number));
    if (
      isUsed(number) ||
      (await hasEnd(check, number, length)) ||
      (await isJournaled(check, number))
    )
      named.push({ number, length, closed: true });
  }
  return named;
}

async function hasEnd({ files }: Check, number: number, length: number): Promise<boolean> {
  if (length < PACK_END_BYTES) return false;
  const offset = length - PACK_END_BYTES;
  return decodePackEnd(await files.read(packFile(number), offset, PACK_END_BYTES)) !== undefined;
}

async function isJournaled({ files }: Check, number: number): Promise<boolean> {
  const header = decodeFileHeader(await files.read(packFile(number), 0, OPEN_FILE_HEADER_BYTES));
  return header?.kind === PackKind.journaled;
}
