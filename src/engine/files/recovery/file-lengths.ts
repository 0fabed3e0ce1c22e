import { ALIAS_RECORD_BYTES } from '../../../format/alias-record.ts';
import {
  decodeFileHeader,
  encodeFileHeader,
  FILE_MAGIC,
  type FileMagic,
  OPEN_FILE_HEADER_BYTES,
} from '../../../format/file-header.ts';
import { HEAD_RECORD_BYTES } from '../../../format/head-record.ts';
import { PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import { TURN_RECORD_BYTES } from '../../../format/turn-record.ts';
import { corrupt } from '../disk/io-error.ts';
import {
  ALIASES_FILE,
  DOCS_FILE,
  HEADS_FILE,
  packFile,
  PATCHES_FILE,
  TURNS_FILE,
  TYPES_FILE,
} from '../names.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Tails } from '../commit/tails.ts';

export interface HeadedFile {
  readonly name: string;
  readonly magic: FileMagic;
  readonly recordBytes: number;
}

/** The store's single files and their headers. */
export const HEADED_FILES: readonly HeadedFile[] = [
  { name: TURNS_FILE, magic: FILE_MAGIC.turns, recordBytes: TURN_RECORD_BYTES },
  { name: HEADS_FILE, magic: FILE_MAGIC.heads, recordBytes: HEAD_RECORD_BYTES },
  { name: PATCHES_FILE, magic: FILE_MAGIC.patches, recordBytes: PATCH_RECORD_BYTES },
  { name: ALIASES_FILE, magic: FILE_MAGIC.aliases, recordBytes: ALIAS_RECORD_BYTES },
  { name: DOCS_FILE, magic: FILE_MAGIC.docs, recordBytes: 0 },
];

export function headerOf({ magic, recordBytes }: Omit<HeadedFile, 'name'>): Uint8Array {
  const size = recordBytes === 0 ? OPEN_FILE_HEADER_BYTES : recordBytes;
  return encodeFileHeader({ magic, recordBytes, kind: 0, number: 0 }, size);
}

/** The length of each file by its tail. The end of turns.log may belong to turns that are still open. */
export function fileLengths(tails: Tails): Map<string, number> {
  const lengths = new Map([
    [TURNS_FILE, tails.nextTurn * TURN_RECORD_BYTES],
    [HEADS_FILE, tails.nextContext * HEAD_RECORD_BYTES],
    [PATCHES_FILE, tails.nextPatch * PATCH_RECORD_BYTES],
    [ALIASES_FILE, tails.nextAlias * ALIAS_RECORD_BYTES],
    [DOCS_FILE, tails.docsBytes],
    [TYPES_FILE, tails.typesBytes],
  ]);
  for (const pack of tails.packs) if (!pack.bulk) lengths.set(packFile(pack.number), pack.length);
  return lengths;
}

/**
 * Refuses a store in which one kind of file stands in the place of another. Damage is no reason to refuse: a read
 * of damaged or missing data fails, and the rest can be read.
 */
export async function checkFiles(files: StoreFiles): Promise<void> {
  for (const headed of HEADED_FILES) {
    const right = headerOf(headed);
    const header = decodeFileHeader(await files.read(headed.name, 0, right.length));
    if (header === undefined || header.magic === headed.magic) continue;
    throw corrupt(headed.name, 0, `the file is of another kind: ${header.magic}`);
  }
}
