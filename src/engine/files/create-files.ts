import { OPEN_FILE_HEADER_BYTES } from '../../format/file-header.ts';
import { STORE_FORMAT, encodeFormatFile } from '../../format/format-file.ts';
import { FOLDERS, OWN_FILES, headerOf } from './core/truths.ts';
import { syncFolder, writeNew } from './disk/file-handles.ts';
import { makeFolder } from './disk/folders.ts';
import type { StoreFiles } from './disk/store-files.ts';
import { FORMAT_FILE, ageOf, writeCheckpoint } from './journal/checkpoint-file.ts';
import { JOURNAL } from './journal/journal-files.ts';
import { JOURNAL_FOLDER } from './journal/journal.ts';
import type { Tails } from './truth/state.ts';

const EMPTY: Tails = {
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
 * Lays out an empty store in a folder that has none. FORMAT comes last, by a rename: a folder without
 * it is not a store yet, and creating it again starts over.
 */
export async function createFiles(files: StoreFiles, said: NewStore): Promise<void> {
  const { store, createdAt } = said;
  files.format = { format: STORE_FORMAT, createdAt, store };
  for (const folder of FOLDERS) await files.io.mkdir(files.pathOf(folder));
  for (const { name, header } of OWN_FILES) {
    await writeNew(
      files.io,
      files.pathOf(name),
      header === undefined ? new Uint8Array() : headerOf(header),
    );
  }
  const journal = { segment: 0, position: 0 } as const;
  const ages = [ageOf(EMPTY, Date.parse(said.createdAt))];
  const { durability } = said;
  const body = { clean: true, durability, journal, tails: EMPTY, ages, scrub: false };
  await writeCheckpoint(files, { generation: 1, seq: 0, body });
  for (const folder of ['', ...FOLDERS]) await syncFolder(files.io, files.pathOf(folder));

  const aside = `${FORMAT_FILE}.new`;
  await writeNew(files.io, files.pathOf(aside), encodeFormatFile(files.format));
  await files.io.rename(files.pathOf(aside), files.pathOf(FORMAT_FILE));
  await syncFolder(files.io, files.pathOf(''));
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
