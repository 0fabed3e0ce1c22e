import { decodeFileHeader, OPEN_FILE_HEADER_BYTES, PackKind } from '../../../format/file-header.ts';
import { decodePackEnd, PACK_END_BYTES } from '../../../format/pack-end.ts';
import { packFile } from '../names.ts';
import { listPacks } from './rebuild-packs.ts';
import type { Check } from '../check/check.ts';

/** A pack that counts, and how far. */
export interface NamedPack {
  readonly number: number;
  /** Bytes that were in use at the snapshot. */
  readonly length: number;
  readonly closed: boolean;
}

/**
 * The packs of the snapshot. Ask after the index was walked, with `isUsed` telling which packs it has
 * places in: a bulk pack without an end is the rest of a put that did not finish, unless it is used.
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
    // Begun before the snapshot, named by a frame after it.
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
