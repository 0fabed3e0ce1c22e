import { syncFolder, writeNew } from '../disk/file-handles.ts';
import { makeFolder } from '../disk/folders.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { DOCS } from '../docs/docs.ts';
import { HEADS } from '../heads/heads.ts';
import { ageOf, FORMAT_FILE, writeCheckpoint } from '../journal/checkpoint-file.ts';
import { JOURNAL } from '../journal/journal-files.ts';
import { JOURNAL_FOLDER } from '../journal/journal.ts';
import { LOGS } from '../logs/logs.ts';
import { OPEN_TURNS } from '../open-turns/open-turns.ts';
import { packNumber } from '../packs/pack-file.ts';
import { PACKS } from '../packs/packs.ts';
import { PATCHES } from '../patches/patches.ts';
import type { Copy, CopyJob } from '../truth/copy.ts';
import { DamageReport, type Tails } from '../truth/state.ts';
import { can, type Learning, type OwnFile, type Rebuild, type Truth } from '../truth/truth.ts';
import { TURNS } from '../turns/turns.ts';
import {
  decodeFileHeader,
  encodeFileHeader,
  OPEN_FILE_HEADER_BYTES,
} from '../../../format/file-header.ts';
import { encodeFormatFile, type FormatFile, STORE_FORMAT } from '../../../format/format-file.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';

// The list of all truths, and the short loops over it that recovery, the index and copies need. A truth stands behind
// those that its records refer to: blobs before turns, turns and documents before heads.

export const TRUTHS: readonly Truth[] = [
  JOURNAL,
  PACKS,
  TURNS,
  OPEN_TURNS,
  DOCS,
  HEADS,
  PATCHES,
  LOGS,
];

/** Folders that every store has, parents first. */
export const FOLDERS: readonly string[] = TRUTHS.flatMap(({ folders }) => folders);

/** Files that every store has. */
export const OWN_FILES: readonly OwnFile[] = TRUTHS.flatMap(({ files }) => files);

const BY_NAME: ReadonlyMap<string, Truth> = new Map(
  TRUTHS.flatMap((truth) => truth.files.map(({ name }): [string, Truth] => [name, truth])),
);

/** The truth that a file belongs to. Undefined for a plain file of a log or document. */
function truthOf(path: string): Truth | undefined {
  return BY_NAME.get(path) ?? TRUTHS.find((truth) => truth.owns(path));
}

/** The tails after one more write. */
export function advanceTails(tails: Tails, write: JournalWrite): Tails {
  return truthOf(write.path)?.advance(tails, write) ?? tails;
}

/** The length of each file by its tail. The end of the file of turns may belong to turns that are still open. */
export function fileLengths(tails: Tails): Map<string, number> {
  return new Map(TRUTHS.flatMap((truth) => [...truth.lengths(tails)]));
}

/** The bytes of these files, without packs. */
export function bytesBesidePacks(tails: Tails): number {
  let bytes = 0;
  for (const [name, length] of fileLengths(tails))
    bytes += packNumber(name) === undefined ? length : 0;
  return bytes;
}

/** Tells the index about one write of a frame that it has not seen. */
export async function replayWrite(learning: Learning, write: JournalWrite): Promise<void> {
  const replay = truthOf(write.path)?.replay;
  if (replay !== undefined && can(replay)) await replay(learning, write);
}

/** Tells the index about everything in the files. Returns the damage. */
export async function rebuildIndex(
  options: Omit<Rebuild, 'damage' | 'newest' | 'moves'>,
): Promise<DamageReport> {
  const newest = new Uint32Array(options.tails.nextContext);
  const damage = new DamageReport();
  const rebuild: Rebuild = { ...options, damage, newest, moves: new Map() };
  for (const truth of TRUTHS) if (can(truth.rebuild)) await truth.rebuild(rebuild);
  return rebuild.damage;
}

/** Copies the truths whose time it is. */
export async function copyTruths(job: CopyJob, when: Copy['when']): Promise<void> {
  for (const { copy } of TRUTHS) if (can(copy) && copy.when === when) await copy.run(job);
}

/** Whether frames are noted for a file during a copy. The rest of the store only grows meanwhile. */
export function isNoted(path: string): boolean {
  const copy = truthOf(path)?.copy;
  return copy === undefined || (can(copy) && copy.when === 'noted');
}

export function headerOf({ magic, recordBytes }: NonNullable<OwnFile['header']>): Uint8Array {
  const size = recordBytes === 0 ? OPEN_FILE_HEADER_BYTES : recordBytes;
  return encodeFileHeader({ magic, recordBytes, kind: 0, number: 0 }, size);
}

/**
 * Refuses a store in which one kind of file stands in the place of another. Damage is no reason to refuse: a read
 * of damaged or missing data fails, and the rest can be read.
 */
export async function assertKinds(files: StoreFiles): Promise<void> {
  for (const { name, header } of OWN_FILES) {
    if (header === undefined) continue;
    const found = decodeFileHeader(await files.read(name, 0, headerOf(header).length));
    if (found === undefined || found.magic === header.magic) continue;
    throw corrupt(name, 0, `the file is of another kind: ${found.magic}`);
  }
}

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
