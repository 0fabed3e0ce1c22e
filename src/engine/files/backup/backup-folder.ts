import { randomBytes } from 'node:crypto';
import { join, relative, sep } from 'node:path';
import { invalid } from '../../../base/errors.ts';
import { toBuffer } from '../../../format/bytes.ts';
import { ERASED_RECORD_BYTES } from '../../../format/erased-record.ts';
import type { FormatFile } from '../../../format/format-file.ts';
import { layOut, writeFormat } from '../core/create-files.ts';
import { cutToTails, replayJournal } from '../core/replay.ts';
import { fileLengths } from '../core/truths.ts';
import { closeAll, syncFolder } from '../disk/file-handles.ts';
import { makeFolder } from '../disk/folders.ts';
import { LOCK_FILE } from '../disk/owner-lock.ts';
import { OWNER_FILE, describeOwner } from '../disk/owner-note.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { HEADS_FILE } from '../heads/head-table.ts';
import { INDEX_FILE } from '../index/store-index.ts';
import {
  type Checkpoint,
  type CheckpointBody,
  FORMAT_FILE,
  readCheckpoint,
  readFormat,
  writeCheckpoint,
} from '../journal/checkpoint-file.ts';
import { JOURNAL_FOLDER, SEGMENTS } from '../journal/journal.ts';
import { REDO_PLACE, type RedoFrame } from '../journal/redo-frame.ts';
import { ERASED_FILE } from '../packs/erased-blobs.ts';
import { packFile, packNumber } from '../packs/pack-file.ts';
import type { CopiedPack, CopySink, Visible } from '../truth/copy.ts';
import {
  type BackupNote,
  type BackupState,
  type CopiedState,
  NOTE_FILE,
  readNote,
  sameTails,
  writeNote,
} from './backup-note.ts';
import { readKnown } from './known-backups.ts';

// The folder of a backup, from the look at it before anything is touched to the steps that make a new state count.

const END_BYTES = 64;

/** Names left by a run that ended before it had written anything. Such a folder counts as empty. */
const TRACES = new Set([LOCK_FILE, OWNER_FILE, `${NOTE_FILE}.new`, `${NOTE_FILE}~new`]);

/** True for a folder in which nothing was stored yet. Its owner keeps the second lock in the folder of the journal. */
export async function isAsGoodAsEmpty({ io, root }: StoreFiles): Promise<boolean> {
  const isTrace = (name: string): boolean => TRACES.has(name) || name.startsWith(`${LOCK_FILE}-`);
  const others = (await io.list(root)).filter((name) => !isTrace(name));
  if (others.length === 0) return true;
  const journal = join(root, JOURNAL_FOLDER);
  if (others.length > 1 || (await io.stat(journal))?.kind !== 'folder') return false;
  return (await io.list(journal)).every(isTrace);
}

export interface BackupFolder {
  readonly files: StoreFiles;
  readonly format: FormatFile;
  /** Names the folder, so that the store remembers what it has made of it. */
  readonly id: string;
  /** The certain content of the folder. Undefined when everything except closed packs must be copied. */
  base: { readonly state: BackupState; readonly checkpoint: Checkpoint } | undefined;
  /** The closed packs that are whole and durable here. */
  readonly packs: Map<number, CopiedPack>;
  /** The records of the erasure log in the store. Nothing is erased while a backup runs. */
  readonly erased: number;
  /** The records of the erasure log that everything in the folder has followed. */
  readonly followed: number;
}

/** Runs `work` with the folder of a backup, which is checked and locked, and left as it was when it is not one. */
export async function withBackupFolder<T>(
  store: StoreFiles,
  path: string,
  work: (folder: BackupFolder) => Promise<T>,
): Promise<T> {
  assertApart('backup', store.root, path);
  const format = await readFormat(store);
  const files = new StoreFiles(store.io, path);
  // A copy has the id of its store, and so its salt.
  files.format = format;
  const note = await findBackup(files, format.store);
  if (note === undefined) await makeFolder(store.io, path);
  return withLock(files, async () => {
    const base = note && (await findBase(files, note));
    const id = note?.folder ?? newId();
    if (base !== undefined) {
      assertKnown(files, base.state, (await readKnown(store))[id] ?? []);
      await assertContinues(store, files, base.state);
    }
    await removeIndex(files);
    const erased = await countErased(store);
    const copied: CopiedPack[] = [];
    for (const pack of note?.copied ?? []) {
      if (await isSameEnd(store, files, packFile(pack.number), pack.length)) copied.push(pack);
    }
    const known = [...(base?.state.packs ?? []), ...copied];
    const packs = new Map(known.map((pack) => [pack.number, pack]));
    const copiedErased = copied.length > 0 ? note?.copiedErased : undefined;
    const followed = Math.min(erased, base?.state.erased ?? erased, copiedErased ?? erased);
    return work({ files, format, id, base, packs, erased, followed });
  });
}

/** Owns the folder of `files` while `work` runs, and closes the files in the end. */
export async function withLock<T>(files: StoreFiles, work: () => Promise<T>): Promise<T> {
  const lock = await files.io.lock(files.pathOf(LOCK_FILE), describeOwner());
  try {
    return await work();
  } finally {
    await closeAll([() => files.close(), () => lock.release()]);
  }
}

/** Notes that a pack is whole and durable here, so that a run after an interruption does not begin with it again. */
export async function notePack(folder: BackupFolder, pack: CopiedPack): Promise<void> {
  folder.packs.set(pack.number, pack);
  await writeNote(folder.files, noteOf(folder));
}

function noteOf({ format, id, base, packs, followed }: BackupFolder): BackupNote {
  const whole = base && { whole: base.state };
  const copied = { copied: [...packs.values()], copiedErased: followed };
  return { store: format.store, folder: id, ...whole, ...copied };
}

/** A name for a folder or a state that no other has. */
export function newId(): string {
  return randomBytes(8).toString('hex');
}

/**
 * Makes the folder unfinished: until the run has ended it cannot be opened as a store, and everything in it may
 * change. Closed packs stay known for the next run, should this one not finish.
 */
export async function makeUnfinished(folder: BackupFolder): Promise<void> {
  const { files, format } = folder;
  await writeNote(files, noteOf(folder));
  await files.io.remove(files.pathOf(FORMAT_FILE));
  await syncFolder(files.io, files.root);
  await layOut(files, format, 'safe');
}

/** The length of each file that the state in the folder covers. */
export function visibleLengths({ tails }: CheckpointBody): Visible {
  const lengths = fileLengths(tails);
  const open = new Map(tails.packs.map(({ number, length }) => [number, length]));
  return {
    get(path) {
      const pack = packNumber(path);
      if (pack === undefined) return lengths.get(path);
      // Nothing in a pack that was begun after this state counts.
      return pack < tails.nextPack ? open.get(pack) : 0;
    },
  };
}

/**
 * Makes the copied state count. A whole folder comes to it with one checkpoint, which points at the frame. A folder
 * that was not in use becomes a store at the end.
 */
export async function finishFolder(
  folder: BackupFolder,
  state: CopiedState,
  how: { into: CopySink; redo: RedoFrame | undefined } & Pick<CheckpointBody, 'ages'>,
): Promise<void> {
  const { files, format, id, base } = folder;
  const { into, redo, ages } = how;
  const { store } = format;
  const { tails } = state;
  const before = base?.checkpoint ?? { generation: 1, seq: state.frame };
  const isSame =
    base !== undefined && redo?.empty === true && sameTails(tails, base.checkpoint.body.tails);
  // The copy has its own frames. Their numbers continue from its last frame.
  const seq = before.seq + (isSame || redo === undefined ? 0 : 1);
  const whole = { ...state, seq };
  if (!isSame) {
    await into.sync();
    await redo?.finish(seq);
    const note = { ...noteOf(folder), next: whole };
    await writeNote(files, note);
    const now = { tails, ages, scrub: false, clean: false } as const;
    const body = { ...now, durability: 'safe', journal: REDO_PLACE } as const;
    const checkpoint = { generation: before.generation + 1, seq: before.seq, body };
    await writeCheckpoint(files, checkpoint);
    await settle(files, note, checkpoint);
    await cutToTails(files, fileLengths(tails));
  }
  // Frames of an earlier state are not needed, and could hold data that was erased since.
  await cutToTails(files, new Map(SEGMENTS.map((name) => [name, 0])));
  if (base === undefined) await writeFormat(files, format);
  await writeNote(files, { store, folder: id, whole, copied: [], copiedErased: 0 });
}

/** The journal place where a cleanly closed store continues: away from the frame of the next backup. */
const JOURNAL_START = { segment: 0, position: 0 } as const;

/**
 * Brings a store that is not open to a clean end: frames are applied and made durable, and the checkpoint says that
 * the journal is not needed. A store that was closed cleanly is left as it is. `before` is durable.
 */
export async function settle(
  files: StoreFiles,
  note: BackupNote,
  before: Checkpoint,
): Promise<Checkpoint> {
  const { any, seq, tails, erased } = await replayJournal(files, before);
  const { segment, position } = before.body.journal;
  if (!any && segment === JOURNAL_START.segment && position === JOURNAL_START.position) {
    return before;
  }
  if (before.body.durability === 'unsafe') await cutToTails(files, fileLengths(tails));
  await files.syncAll();
  // The frame of a backup changes data before the tails. The tails in its checkpoint are right.
  const given = note.next !== undefined && sameTails(before.body.tails, note.next.tails);
  const { generation, body } = before;
  const scrub = body.scrub || erased;
  const now = { tails: given ? body.tails : tails, ages: body.ages, scrub };
  return closeCleanly(files, generation + 1, seq, now);
}

/** Writes a checkpoint that is clean, and says that the journal is empty. */
export async function closeCleanly(
  files: StoreFiles,
  generation: number,
  seq: number,
  now: Pick<CheckpointBody, 'tails' | 'ages' | 'scrub'>,
): Promise<Checkpoint> {
  const body = { ...now, clean: true, durability: 'safe', journal: JOURNAL_START } as const;
  const checkpoint = { generation, seq, body };
  await writeCheckpoint(files, checkpoint);
  return checkpoint;
}

async function findBase(files: StoreFiles, note: BackupNote): Promise<BackupFolder['base']> {
  const known = note.whole ?? note.next;
  if (known === undefined || (await files.size(FORMAT_FILE)) === 0) return undefined;
  const checkpoint = await settle(files, note, await readCheckpoint(files));
  const { tails } = checkpoint.body;
  // A run that was interrupted may have left bytes beyond, and nobody knows whether they are durable.
  await cutToTails(files, fileLengths(tails));
  const { next } = note;
  const arrived = next !== undefined && sameTails(next.tails, tails);
  return { state: arrived ? next : known, checkpoint };
}

/**
 * A store remembers what it has made of a folder, and its backups remember it with the store. So a store that was restored
 * from an older backup does not know the state of a newer one, whatever the two differ in.
 */
function assertKnown(files: StoreFiles, { id }: BackupState, known: readonly string[]): void {
  if (id === undefined || known.includes(id)) return;
  throw notContinued(files, 'which has a state that this store has never been in');
}

function notContinued({ root }: StoreFiles, why: string): Error {
  return invalid(
    'backup',
    `must not go to ${root}, ${why}: the store was restored from another backup since, or one of the two is damaged. Keep that folder, and choose another one`,
  );
}

/**
 * A store that was restored from another backup may have gone on differently. Its records must not be mixed with those
 * of this folder, which may be the only place of what the store has lost.
 */
async function assertContinues(
  store: StoreFiles,
  files: StoreFiles,
  { tails, openTurns, erased }: BackupState,
): Promise<void> {
  const open = new Set(openTurns);
  let nextTurn = tails.nextTurn;
  while (open.has(nextTurn - 1)) nextTurn -= 1;
  // An erasure changes packs in place.
  const isErased = Math.max(await countErased(store), await countErased(files)) > erased;
  for (const [name, length] of fileLengths({ ...tails, nextTurn })) {
    const size = await store.size(name);
    const isPack = packNumber(name) !== undefined;
    // Heads change in place, and a collection removes packs.
    const mayDiffer = name === HEADS_FILE ? size >= length : isPack && (isErased || size === 0);
    if (mayDiffer || (await isSameEnd(store, files, name, length))) continue;
    throw notContinued(files, `whose ${name} has records that this store does not have`);
  }
}

/** Tells whether two files have the same history: the end of a record has its checksum, and most have a time. */
async function isSameEnd(
  store: StoreFiles,
  files: StoreFiles,
  name: string,
  length: number,
): Promise<boolean> {
  const from = Math.max(0, length - END_BYTES);
  const ours = await store.read(name, from, length - from);
  return (
    ours.length === length - from &&
    toBuffer(ours).equals(await files.read(name, from, ours.length))
  );
}

async function countErased(files: StoreFiles): Promise<number> {
  return Math.floor((await files.size(ERASED_FILE)) / ERASED_RECORD_BYTES);
}

/** The note of a backup of this store. Undefined for a folder that is missing or empty. */
async function findBackup(files: StoreFiles, id: string): Promise<BackupNote | undefined> {
  const { io, root } = files;
  const stat = await io.stat(root);
  if (stat === undefined) return undefined;
  if (stat.kind !== 'folder') throw invalid('backup', `must go to a folder, and ${root} is a file`);
  if (await isAsGoodAsEmpty(files)) return undefined;
  const note = await readNote(files);
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
