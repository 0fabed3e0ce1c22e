import { randomBytes } from 'node:crypto';
import { join, relative, sep } from 'node:path';
import { invalid } from '../../../base/errors.ts';
import { ERASED_RECORD_BYTES } from '../../../format/blob-record.ts';
import type { FormatFile } from '../../../format/format-file.ts';
import { EMPTY, fileLengths, layOut, writeFormat } from '../core/truths.ts';
import { cutToTails, replayJournal } from '../core/replay.ts';
import { closeAll, syncFolder } from '../disk/file-handles.ts';
import { makeFolder, walkFolder } from '../disk/folders.ts';
import { LOCK_FILE } from '../disk/owner-lock.ts';
import { OWNER_FILE, describeOwner } from '../disk/owner-note.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { HEADS_FILE } from '../heads/head-table.ts';
import { INDEX_FILE } from '../index/store-index.ts';
import {
  type Checkpoint,
  type CheckpointBody,
  findCheckpoint,
  FORMAT_FILE,
  readCheckpoint,
  readFormat,
  writeCheckpoint,
} from '../journal/checkpoint-file.ts';
import { JOURNAL_FOLDER, SEGMENTS } from '../journal/journal.ts';
import { EXTENTS_FOLDER } from '../logs/line-log.ts';
import { OPEN_FOLDER } from '../open-turns/open-turns.ts';
import { ERASED_FILE } from '../packs/erased-blobs.ts';
import {
  listPacks,
  packFile,
  packNumber,
  PACKS_FOLDER,
  packSize,
  readPackEnd,
} from '../packs/pack-file.ts';
import type { Earlier, PackSpan } from '../truth/copy.ts';
import { COLLECTED_FILE } from '../turns/turn-table.ts';
import type { Tails } from '../truth/state.ts';
import { type BackupState, encodeNote, NOTE_FILE, readKnown, readNote } from './backup-note.ts';
import { type CopySink, REDO_PLACE, type Visible } from './copy-sink.ts';

// The folder of a backup, from the look at it before anything is touched to the steps that make a new state count.

const END_BYTES = 64;

/** Names left by a run that ended before it had written anything. Such a folder counts as empty. */
const TRACES = new Set([LOCK_FILE, OWNER_FILE, `${NOTE_FILE}.new`, `${NOTE_FILE}~new`]);

/** True where there is no folder, or one in which nothing was stored yet. */
export async function isFree({ io, root }: StoreFiles): Promise<boolean> {
  const stat = await io.stat(root);
  if (stat?.kind !== 'folder') return stat === undefined;
  const isTrace = (name: string): boolean => TRACES.has(name) || name.startsWith(`${LOCK_FILE}-`);
  const others = (await io.list(root)).filter((name) => !isTrace(name));
  if (others.length === 0) return true;
  // The owner of the folder keeps its second lock here.
  const journal = join(root, JOURNAL_FOLDER);
  if (others.length > 1 || (await io.stat(journal))?.kind !== 'folder') return false;
  return (await io.list(journal)).every(isTrace);
}

export interface BackupFolder {
  readonly files: StoreFiles;
  readonly format: FormatFile;
  /** Names the folder, so that the store remembers what it has made of it. */
  readonly id: string;
  /** The state that the folder shows. Undefined for a folder that is not in use. */
  readonly base: { readonly state: BackupState; readonly checkpoint: Checkpoint } | undefined;
  /** True when every closed pack here is whole and durable. */
  readonly wholePacks: boolean;
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
  const isNew = await isNewFolder(files, format.store);
  if (isNew) await makeFolder(store.io, path);
  return withLock(files, async () => {
    const checkpoint = (await files.size(FORMAT_FILE)) > 0 ? await settle(files) : undefined;
    const note = await readNote(files);
    if (note === undefined && !isNew) throw notBackup(files);
    const { folder: id = newId(), whole: state, wholePacks = true } = note ?? {};
    const base = checkpoint && state && { state, checkpoint };
    if (base) await assertContinues(store, files, base.state, (await readKnown(store))[id]);
    await removeLeftovers(files);
    return work({ files, format, id, base, wholePacks });
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

/** A name for a folder or a state that no other has. */
export function newId(): string {
  return randomBytes(8).toString('hex');
}

/**
 * Takes the folder out of use: until the run has ended it cannot be opened as a store, and everything in it may change.
 * Closed packs stay for this run and the next.
 */
export async function makeUnfinished(folder: BackupFolder): Promise<void> {
  const { files, format, id, wholePacks } = folder;
  await files.syncAll();
  await files.replace(NOTE_FILE, [encodeNote({ store: format.store, folder: id, wholePacks })]);
  await files.io.remove(files.pathOf(FORMAT_FILE));
  await syncFolder(files.io, files.root);
  await layOut(files, format, 'safe');
  // Nobody knows whether these are durable.
  const paths = [ERASED_FILE, COLLECTED_FILE];
  for (const name of [OPEN_FOLDER, EXTENTS_FOLDER]) {
    for await (const path of walkFolder(files, name)) paths.push(path);
  }
  await files.apply(paths.map((path) => ({ kind: 'remove', path })));
}

/** The packs that the folder has. A pack that is too short there is copied again. */
export async function findPacks(
  store: StoreFiles,
  { files, base, wholePacks }: BackupFolder,
): Promise<Map<number, PackSpan>> {
  const packs = new Map<number, PackSpan>();
  const known = [
    ...(base?.state.tails.packs ?? []).map((pack) => ({ ...pack, closed: false })),
    ...(base?.state.packs ?? []).map((pack) => ({ ...pack, closed: true })),
  ];
  for (const { number, length, closed } of known) {
    if ((await packSize(files, number)) >= length) packs.set(number, { number, length, closed });
  }
  // An interrupted run may have left others.
  for (const number of wholePacks ? await listPacks(files) : []) {
    if (packs.has(number)) continue;
    const length = await packSize(files, number);
    const isClosed = (await readPackEnd(files, number, length)) !== undefined;
    if (!isClosed || !(await isSameEnd(store, files, packFile(number), length))) continue;
    packs.set(number, { number, length, closed: true });
  }
  return packs;
}

/** What a folder has that is not in use. */
export const NOTHING: Earlier = { tails: EMPTY, openTurns: [], erased: 0 };

/** The length of each file that the state in the folder covers. */
export function visibleLengths({ tails }: CheckpointBody): Visible {
  const lengths = fileLengths(tails);
  for (const { number, length } of tails.packs) lengths.set(packFile(number), length);
  // Nothing in a pack that was begun after this state counts.
  const isYoung = (path: string): boolean => (packNumber(path) ?? 0) >= tails.nextPack;
  return { get: (path) => (isYoung(path) ? 0 : lengths.get(path)) };
}

/**
 * Makes the copied state count. A folder in use comes to it with one checkpoint, which points at the frame. A folder
 * that was not in use becomes a store at the end.
 */
export async function finishFolder(
  { files, format, id, base }: BackupFolder,
  into: CopySink,
  state: Omit<BackupState, 'seq'>,
  ages: CheckpointBody['ages'],
): Promise<void> {
  const { generation, seq: last } = base?.checkpoint ?? { generation: 1, seq: state.frame };
  // The copy has its own frames. Their numbers continue from its last frame.
  const seq = base === undefined ? last : last + 1;
  const note = { store: format.store, folder: id, whole: { ...state, seq }, wholePacks: true };
  await into.sync();
  await into.note(NOTE_FILE, encodeNote(note));
  const now = { tails: state.tails, ages, scrub: false };
  if (base !== undefined) {
    await into.writeFrame(seq);
    const body = { ...now, clean: false, durability: 'safe', journal: REDO_PLACE } as const;
    await writeCheckpoint(files, { generation: generation + 1, seq: last, body });
    await into.carryOut();
  }
  await closeCleanly(files, generation + 2, seq, now);
  await cutBeyond(files, state.tails);
  if (base === undefined) await writeFormat(files, format);
}

/** The journal place where a cleanly closed store continues: away from the frame of the next backup. */
const JOURNAL_START = { segment: 0, position: 0 } as const;

/** Brings a store that is not open to a clean end: frames are carried out, and nothing is left beyond the tails. */
export async function settle(files: StoreFiles): Promise<Checkpoint> {
  let checkpoint = await readCheckpoint(files);
  const { any, seq, tails, erased } = await replayJournal(files, checkpoint);
  const { generation, body } = checkpoint;
  const { segment, position } = body.journal;
  if (any || segment !== JOURNAL_START.segment || position !== JOURNAL_START.position) {
    const now = { tails, ages: body.ages, scrub: body.scrub || erased };
    checkpoint = await closeCleanly(files, generation + 1, seq, now);
  }
  await cutBeyond(files, tails);
  return checkpoint;
}

/** Makes everything durable. The checkpoint is clean, and says that the journal is empty. */
export async function closeCleanly(
  files: StoreFiles,
  generation: number,
  seq: number,
  now: Pick<CheckpointBody, 'tails' | 'ages' | 'scrub'>,
): Promise<Checkpoint> {
  await files.syncAll();
  const body = { ...now, clean: true, durability: 'safe', journal: JOURNAL_START } as const;
  const checkpoint = { generation, seq, body };
  await writeCheckpoint(files, checkpoint);
  return checkpoint;
}

/**
 * A run that was interrupted may have left bytes beyond the tails, and nobody knows whether they are durable. Frames
 * that were carried out could hold data that was erased since.
 */
async function cutBeyond(files: StoreFiles, tails: Tails): Promise<void> {
  const lengths = fileLengths(tails);
  for (const name of SEGMENTS) lengths.set(name, 0);
  await cutToTails(files, lengths);
}

/**
 * A store that was restored from another backup may have gone on differently. Its records must not be mixed with those
 * of this folder, which may be the only place of what the store has lost. A store remembers what it has made of a
 * folder, and its backups remember it with the store. So a store that was restored from an older backup does not know
 * the state of a newer one. The ends of the files tell where a state has no name.
 */
async function assertContinues(
  store: StoreFiles,
  files: StoreFiles,
  { id, tails, openTurns, erased }: BackupState,
  known: readonly string[] = [],
): Promise<void> {
  const refuse = (why: string): Error =>
    invalid(
      'backup',
      `must not go to ${files.root}, ${why}: the store was restored from another backup since, or one of the two is damaged. Keep that folder, and choose another one`,
    );
  if (id !== undefined && !known.includes(id)) {
    throw refuse('which has a state that this store has never been in');
  }
  const open = new Set(openTurns);
  let nextTurn = tails.nextTurn;
  while (open.has(nextTurn - 1)) nextTurn -= 1;
  // An erasure changes packs in place.
  const erasedBytes = Math.max(await store.size(ERASED_FILE), await files.size(ERASED_FILE));
  const isErased = erasedBytes > erased * ERASED_RECORD_BYTES;
  for (const [name, length] of fileLengths({ ...tails, nextTurn })) {
    const size = await store.size(name);
    const isPack = packNumber(name) !== undefined;
    // Heads change in place, and a collection removes packs.
    const mayDiffer = name === HEADS_FILE ? size >= length : isPack && (isErased || size === 0);
    if (mayDiffer || (await isSameEnd(store, files, name, length))) continue;
    throw refuse(`whose ${name} has records that this store does not have`);
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
  const theirs = await files.read(name, from, length - from);
  return ours.length === length - from && ours.equals(theirs);
}

/** True for a folder that is missing or empty, false for a backup of this store. No other folder is touched. */
async function isNewFolder(files: StoreFiles, id: string): Promise<boolean> {
  const { io, root } = files;
  if (await isFree(files)) return true;
  if ((await io.stat(root))?.kind !== 'folder')
    throw invalid('backup', `must go to a folder, and ${root} is a file`);
  const note = await readNote(files);
  // A power cut may have torn the note while a frame was carried out, which has it.
  const isTorn = async (): Promise<boolean> =>
    (await io.list(root)).includes(NOTE_FILE) &&
    (await findCheckpoint(files))?.body.clean === false;
  if (note === undefined && !(await isTorn())) throw notBackup(files);
  const { store } = note ?? (await readFormat(files));
  if (store === id) return false;
  throw invalid('backup', `must not go to ${root}, which has a backup of another store`);
}

function notBackup({ root }: StoreFiles): Error {
  return invalid(
    'backup',
    `must go to an empty folder or an earlier backup, and ${root} has other files in it`,
  );
}

/** A backup inside the folder that it copies would copy itself. */
export function assertApart(what: string, folder: string, path: string): void {
  if (relative(folder, path).split(sep)[0] === '..') return;
  throw invalid(what, `must go to another folder, and ${path} is in ${folder}`);
}

/** Removes an index, which knows nothing of the new data, and halves of packs that an interrupted run left. */
async function removeLeftovers(files: StoreFiles): Promise<void> {
  const names = (await files.io.list(files.root)).filter((name) => name.startsWith(INDEX_FILE));
  const halves = ((await files.list(PACKS_FOLDER)) ?? []).filter((name) => name.endsWith('~new'));
  for (const name of [...names, ...halves.map((half) => `${PACKS_FOLDER}/${half}`)]) {
    await files.io.remove(files.pathOf(name));
  }
}
