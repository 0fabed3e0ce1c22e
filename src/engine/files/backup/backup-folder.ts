import { relative, sep } from 'node:path';
import { invalid } from '../../../base/errors.ts';
import type { IoLock } from '../../io.ts';
import { FOLDERS, fileLengths } from '../core/truths.ts';
import { syncFolder } from '../disk/file-handles.ts';
import { makeFolder } from '../disk/folders.ts';
import { LOCK_FILE } from '../disk/owner-lock.ts';
import { OWNER_FILE, describeOwner } from '../disk/owner-note.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { INDEX_FILE } from '../index/store-index.ts';
import {
  type Checkpoint,
  FORMAT_FILE,
  readCheckpoint,
  readFormat,
} from '../journal/checkpoint-file.ts';
import { listPacks, packFile, packSize } from '../packs/pack-file.ts';
import type { CopiedPack, Visible } from '../truth/copy.ts';
import {
  type BackupNote,
  type BackupState,
  NOTE_FILE,
  readNote,
  sameTails,
  settle,
  writeNote,
} from './backup-note.ts';

// The folder of a backup, which is checked before anything in it is touched.

/** Names left by a run that ended before it had written anything. Such a folder counts as empty. */
const TRACES = new Set([LOCK_FILE, OWNER_FILE, `${NOTE_FILE}.new`]);

/** True for a folder in which nothing was stored yet. */
export function isAsGoodAsEmpty(names: readonly string[]): boolean {
  return names.every((name) => TRACES.has(name) || name.startsWith(`${LOCK_FILE}-`));
}

export interface BackupFolder {
  readonly files: StoreFiles;
  readonly lock: IoLock;
  note: BackupNote;
  /** The certain content of the folder. Undefined when everything except closed packs must be copied. */
  readonly base: { readonly state: BackupState; readonly checkpoint: Checkpoint } | undefined;
}

export async function openBackupFolder(store: StoreFiles, path: string): Promise<BackupFolder> {
  const { io } = store;
  assertApart('backup', store.root, path);
  const id = (await readFormat(store)).store;
  const files = new StoreFiles(io, path);
  // A copy has the id of its store, and so its salt.
  files.format = store.format;
  files.frameSalt = store.frameSalt;
  const found = await findBackup(files, id);
  if (found === undefined) await makeFolder(io, path);
  const lock = await io.lock(files.pathOf(LOCK_FILE), describeOwner());
  try {
    const note = found ?? { store: id, copied: [], copiedErased: 0 };
    await removeIndex(files);
    const base = await findBase(files, note);
    return { files, lock, note, base };
  } catch (error) {
    await files.close();
    await lock.release();
    throw error;
  }
}

export async function closeBackupFolder({ files, lock }: BackupFolder): Promise<void> {
  try {
    await files.close();
  } finally {
    await lock.release();
  }
}

/** The closed packs in the folder, and how many records of the erasure log all of them have followed. */
export function knownPacks({ base, note }: BackupFolder): {
  readonly packs: readonly CopiedPack[];
  /** Undefined when no pack is known. */
  readonly erased: number | undefined;
} {
  const packs = [...(base?.state.packs ?? []), ...note.copied];
  const followed = [base?.state.erased, note.copied.length > 0 ? note.copiedErased : undefined];
  const known = followed.filter((count) => count !== undefined);
  return { packs, erased: known.length === 0 ? undefined : Math.min(...known) };
}

/**
 * Makes the folder unfinished: until the run has ended it cannot be opened as a store, and everything in it may
 * change. Closed packs stay known for the next run, should this one not finish.
 */
export async function makeUnfinished(folder: BackupFolder): Promise<void> {
  const { files } = folder;
  const { packs, erased = 0 } = knownPacks(folder);
  folder.note = { store: folder.note.store, copied: packs, copiedErased: erased };
  await writeNote(files, folder.note);
  await files.io.remove(files.pathOf(FORMAT_FILE));
  await syncFolder(files.io, files.root);
  for (const name of FOLDERS) await files.io.mkdir(files.pathOf(name));
}

/** The length of each file that the state in the folder covers. */
export async function visibleLengths({ files, base }: BackupFolder): Promise<Visible> {
  if (base === undefined) return new Map();
  const { tails } = base.checkpoint.body;
  const visible = fileLengths(tails);
  const closed = new Map(base.state.packs.map(({ number, length }) => [number, length]));
  for (const number of await listPacks(files)) {
    const open = tails.packs.find((pack) => pack.number === number);
    // Only a folder that was written to has packs that its last backup did not know.
    const foreign = number >= base.state.tails.nextPack && number < tails.nextPack;
    const size = foreign ? await packSize(files, number) : 0;
    visible.set(packFile(number), open?.length ?? closed.get(number) ?? size);
  }
  return visible;
}

async function findBase(files: StoreFiles, note: BackupNote): Promise<BackupFolder['base']> {
  if ((await files.size(FORMAT_FILE)) === 0) return undefined;
  const known = note.whole ?? note.next;
  if (known === undefined) return undefined;
  const checkpoint = await settle(files, note, await readCheckpoint(files));
  const { next } = note;
  const arrived = next !== undefined && sameTails(next.tails, checkpoint.body.tails);
  return { state: arrived ? next : known, checkpoint };
}

/** The note of a backup of this store. Undefined for a folder that is missing or empty. */
async function findBackup(files: StoreFiles, id: string): Promise<BackupNote | undefined> {
  const { io, root } = files;
  const stat = await io.stat(root);
  if (stat === undefined) return undefined;
  if (stat.kind !== 'folder') throw invalid('backup', `must go to a folder, and ${root} is a file`);
  const names = await io.list(root);
  if (isAsGoodAsEmpty(names)) return undefined;
  const note = names.includes(NOTE_FILE) ? await readNote(files) : undefined;
  if (note === undefined) {
    throw invalid(
      'backup',
      `must go to an empty folder or an earlier backup, and ${root} has other files in it`,
    );
  }
  if (note.store === id) return note;
  throw invalid('backup', `must not go to ${root}, which has a backup of another store`);
}

/** A backup inside the folder that it copies would copy itself. */
export function assertApart(what: string, folder: string, path: string): void {
  if (relative(folder, path).split(sep)[0] === '..') return;
  throw invalid(what, `must go to another folder, and ${path} is in ${folder}`);
}

/** The copy may have been opened. An index made then knows nothing of the new data. */
async function removeIndex(files: StoreFiles): Promise<void> {
  for (const name of await files.io.list(files.root)) {
    if (name.startsWith(INDEX_FILE)) await files.io.remove(files.pathOf(name));
  }
}
