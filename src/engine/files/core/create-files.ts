import { OPEN_FILE_HEADER_BYTES } from '../../../format/file-header.ts';
import { STORE_FORMAT, encodeFormatFile, type FormatFile } from '../../../format/format-file.ts';
import { FOLDERS, OWN_FILES, headerOf } from './truths.ts';
import { syncFolder, writeNew } from '../disk/file-handles.ts';
import { makeFolder } from '../disk/folders.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { FORMAT_FILE, ageOf, writeCheckpoint } from '../journal/checkpoint-file.ts';
import { JOURNAL } from '../journal/journal-files.ts';
import { JOURNAL_FOLDER } from '../journal/journal.ts';
import type { Tails } from '../truth/state.ts';

export const EMPTY: Tails = {
  nextTurn: 1,
  nextContext: 1,
  nextPatch: 1,
  nextAlias: 1,
  docsBytes: OPEN_FILE_HEADER_BYTES,
  typesBytes: 0,
  nextPack: 1,
  packs: [],
  timeMs: 0,
};

export interface NewStore {
  readonly store: string;
  readonly createdAt: string;
  readonly durability: 'safe' | 'unsafe';
}

/**
 * Makes an empty store in a folder that has none. FORMAT comes last: a folder without it is not a store yet, and
 * creating it again starts over.
 */
export async function createFiles(files: StoreFiles, said: NewStore): Promise<void> {
  const { store, createdAt, durability } = said;
  const format = { format: STORE_FORMAT, createdAt, store };
  await layOut(files, format, durability);
  await writeFormat(files, format);
}

/** Lays out an empty store that lacks only FORMAT. Files that were there, except packs and logs, are emptied. */
export async function layOut(
  files: StoreFiles,
  format: FormatFile,
  durability: 'safe' | 'unsafe',
): Promise<void> {
  files.format = format;
  for (const folder of FOLDERS) await files.io.mkdir(files.pathOf(folder));
  for (const { name, header } of OWN_FILES) {
    await writeNew(
      files.io,
      files.pathOf(name),
      header === undefined ? new Uint8Array() : headerOf(header),
    );
  }
  const journal = { segment: 0, position: 0 } as const;
  const ages = [ageOf(EMPTY, Date.parse(format.createdAt))];
  const body = { clean: true, durability, journal, tails: EMPTY, ages, scrub: false };
  await writeCheckpoint(files, { generation: 1, seq: 0, body });
  for (const folder of ['', ...FOLDERS]) await syncFolder(files.io, files.pathOf(folder));
}

/** Makes a folder a store. */
export async function writeFormat(files: StoreFiles, format: FormatFile): Promise<void> {
  await files.replace(FORMAT_FILE, [encodeFormatFile(format)]);
}

/**
 * Makes the folders and files that a store always has, and that mean nothing when empty. Someone may have deleted
 * one, or copied the store with a tool that leaves out empty folders.
 */
export async function makeMissing(files: StoreFiles): Promise<void> {
  for (const folder of FOLDERS) {
    if ((await files.io.stat(files.pathOf(folder))) !== undefined) continue;
    await makeFolder(files.io, files.pathOf(folder));
  }
  for (const { name } of JOURNAL.files) {
    if ((await files.io.stat(files.pathOf(name))) !== undefined) continue;
    await writeNew(files.io, files.pathOf(name), new Uint8Array());
    await syncFolder(files.io, files.pathOf(JOURNAL_FOLDER));
  }
}
