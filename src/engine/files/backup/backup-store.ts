import { resolve } from 'node:path';
import { invalid, isQuipuError, notFound, QuipuError } from '../../../base/errors.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import {
  assertApart,
  type BackupFolder,
  closeCleanly,
  findPacks,
  finishFolder,
  isFree,
  makeUnfinished,
  newId,
  NOTHING,
  settle,
  visibleLengths,
  withBackupFolder,
  withLock,
} from './backup-folder.ts';
import {
  type BackupState,
  encodeKnown,
  KNOWN_BYTES_MAX,
  KNOWN_FILE,
  NOTE_FILE,
  noteBackup,
  readKnown,
  readNote,
  UNFINISHED_FILE,
} from './backup-note.ts';
import { CopySink, RedoFull } from './copy-sink.ts';
import type { Writer } from '../commit/writer.ts';
import { bytesBesidePacks, copyTruths, isNoted, layOut, writeFormat } from '../core/truths.ts';
import { listFolder, makeFolder } from '../disk/folders.ts';
import { corrupt, ifRoom, toQuipuError, withCodes } from '../disk/io-error.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { FORMAT_FILE, readFormat } from '../journal/checkpoint-file.ts';
import { EXTENTS_FOLDER, logOfExtents } from '../logs/line-log.ts';
import { listLogs } from '../logs/logs.ts';
import { OPEN_FOLDER, openTurnNumber } from '../open-turns/open-turns.ts';
import { ERASED_FILE } from '../packs/erased-blobs.ts';
import { packFile } from '../packs/pack-file.ts';
import type { CopyJob } from '../truth/copy.ts';
import { COLLECTED_FILE, readSlot } from '../turns/turn-table.ts';
import type { Io } from '../../io.ts';
import type { Progress } from '../../progress.ts';
import type { BackupReport } from '../../upkeep.ts';
import { ERASED_RECORD_BYTES } from '../../../format/blob-record.ts';
import type { FormatFile } from '../../../format/format-file.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';

// Backs up a live store into a folder, which then is a store itself.
// Invariants
// - After an interruption at any point, the folder is the backup before, or the new one, or has no FORMAT and
//   cannot be opened. The next run makes it whole.
// - A whole folder stays whole throughout: its visible state changes with one checkpoint. The folder is taken out
//   of use meanwhile only when more changes in place than one frame can hold.

export interface BackupOptions {
  readonly progress?: Progress | undefined;
  /** Copies what does not go through the engine. The store notes its last backup after that. */
  readonly also?: (() => Promise<void>) | undefined;
  /** Limits the frame that changes an earlier backup. Tests use small limits. */
  readonly redoBytes?: number | undefined;
}

export async function backupStore(
  writer: Writer,
  to: string,
  options: BackupOptions = {},
): Promise<BackupReport> {
  return writer.upkeep('backup', async () => {
    const path = resolve(to);
    const [place] = writer.core.damage.places;
    // Copied damage would replace data that an earlier backup has intact.
    if (place !== undefined) throw cannotCopy(corrupt(place.file, place.offset, place.what));
    const { files } = writer.core;
    return withCodes(path, async () => {
      const report = await withBackupFolder(files, path, (into) => backUp(writer, into, options));
      await options.also?.();
      await noteBackup(files, Date.now());
      return report;
    });
  });
}

async function backUp(
  writer: Writer,
  folder: BackupFolder,
  options: BackupOptions,
): Promise<BackupReport> {
  const { core } = writer;
  const { files, base } = folder;
  // Nothing is erased while a backup runs.
  const erased = core.erased.fileBytes / ERASED_RECORD_BYTES;
  const visible = base && visibleLengths(base.checkpoint.body);
  const into = new CopySink(files, visible, options.redoBytes);
  if (base === undefined) await makeUnfinished(folder);
  const packs = await findPacks(core.files, folder);
  let reusedBytes = base === undefined ? 0 : bytesBesidePacks(base.state.tails);
  for (const { length } of packs.values()) reusedBytes += length;
  const job: CopyJob = {
    from: core.files,
    into,
    progress: options.progress,
    tails: core.tails,
    openTurns: core.openTurns,
    earlier: base ? { ...base.state, erased: Math.min(base.state.erased, erased) } : NOTHING,
    packs,
    logs: new Set(),
    between: (work) => writer.exclusively(work),
    hasLog: (name) => core.hasLog(name),
  };
  try {
    const moment = await copyStore(writer, job, into);
    const closed = [...packs.values()].filter((pack) => pack.closed);
    const state = {
      ...moment,
      ...(await nameState(core.files, folder, into)),
      packs: closed.map(({ number, length }) => ({ number, length })),
      logs: job.logs.size,
      erased,
      collectedBytes: await core.files.size(COLLECTED_FILE),
    };
    await finishFolder(folder, into, state, writer.ages);
  } catch (error) {
    // The damage is in the store: the folder was checked before.
    if (isQuipuError(error, 'CORRUPT')) throw cannotCopy(error);
    if (!(error instanceof RedoFull)) throw error;
    return backUp(writer, { ...folder, base: undefined }, options);
  }
  return { files: into.touched.size, copiedBytes: into.copiedBytes, reusedBytes };
}

/** Copies every truth beside writers, and the frames that were written meanwhile. All is in the sink then. */
async function copyStore(
  writer: Writer,
  job: CopyJob,
  into: CopySink,
): Promise<Pick<BackupState, 'frame' | 'at' | 'tails' | 'openTurns'>> {
  const { core } = writer;
  await core.files.catchUp();
  const noted: JournalWrite[] = [];
  core.onFrame = (writes) => void noted.push(...writes.filter(({ path }) => isNoted(path)));
  const stopNoting = (): void => void (core.onFrame = undefined);
  const takeMoment = async () => {
    stopNoting();
    const { seq: frame, nowMs } = writer;
    const openTurns = [...core.openTurns.keys()];
    return { frame, at: new Date(nowMs).toISOString(), tails: core.tails, openTurns };
  };
  const moment = await copyTruths(job, 'noted')
    .then(() => writer.exclusively(takeMoment))
    .finally(stopNoting);
  for (const write of noted) {
    await into.takeNoted(write);
    const log = logOfExtents(write.path);
    if (log !== undefined && write.kind === 'remove') job.logs.delete(log);
    else if (log !== undefined) job.logs.add(log);
  }
  const { tails } = moment;
  await copyTruths({ ...job, tails, openTurns: new Set(moment.openTurns) }, 'after');
  return moment;
}

/**
 * The store knows the new state before the folder has it, and so does the copy. If the store has no room for that, the
 * state has no name.
 */
async function nameState(
  store: StoreFiles,
  { id: folder, base }: BackupFolder,
  into: CopySink,
): Promise<{ id?: string }> {
  const id = newId();
  const states = base?.state.id === undefined ? [id] : [base.state.id, id];
  const data = encodeKnown(await readKnown(store), folder, states);
  const isKnown = await ifRoom(() => store.replace(KNOWN_FILE, [data]).then(() => true));
  if (isKnown === undefined) return {};
  await into.note(KNOWN_FILE, data);
  return { id };
}

function cannotCopy(error: QuipuError<'CORRUPT'>): QuipuError<'CORRUPT'> {
  const { file, offset } = error.data;
  const message = `the store is damaged, in ${file} at byte ${offset}, and damage is not copied: the backup before stays as it is. "quipu verify" says what is lost; restore it from there, or give a blob up with "quipu blob rm <hash> --everywhere", and back up again`;
  return new QuipuError('CORRUPT', message, error.data, { cause: error });
}

// A restore turns a backup into a store again. Every record is checked while it is copied, so a damaged backup is
// refused with the place of the damage. FORMAT comes last, so an unfinished restore cannot be opened.

const MARKER_TEXT =
  'A restore began here and did not finish. Delete this folder and begin again.\n';

export async function restoreStore(
  io: Io,
  from: string,
  to: string,
  progress?: Progress,
): Promise<BackupReport> {
  const source = new StoreFiles(io, resolve(from));
  const target = new StoreFiles(io, resolve(to));
  try {
    assertApart('store', source.root, target.root);
    await assertBackup(source);
    const format = await readFormat(source);
    source.format = format;
    const taken = `must be restored to a new or empty folder, and ${target.root} is not empty`;
    if (!(await isFree(target))) throw invalid('store', taken);
    // Nobody may change the backup meanwhile.
    return await withLock(source, () => restore(source, target, format, progress));
  } catch (error) {
    const failure = toQuipuError(error, target.root);
    if (!isQuipuError(failure, 'CORRUPT')) throw failure;
    const message = `the backup at ${source.root} is damaged: ${failure.message}`;
    throw new QuipuError('CORRUPT', message, failure.data, { cause: failure });
  }
}

async function restore(
  source: StoreFiles,
  target: StoreFiles,
  format: FormatFile,
  progress: Progress | undefined,
): Promise<BackupReport> {
  const { seq, body } = await settle(source);
  const note = await readNote(source);
  if (note === undefined) throw corrupt(NOTE_FILE, 0, 'the file is damaged');
  if (note.whole?.seq === seq) await assertComplete(source, note.whole);
  await makeFolder(target.io, target.root);
  return withLock(target, async () => {
    await target.replace(UNFINISHED_FILE, [encodeUtf8(MARKER_TEXT)]);
    await layOut(target, format, 'safe');
    const into = new CopySink(target);
    const job: CopyJob = {
      from: source,
      into,
      progress,
      tails: body.tails,
      openTurns: await findOpenTurns(source),
      earlier: NOTHING,
      packs: new Map(),
      logs: new Set(),
      between: (work) => work(),
      hasLog: async () => true,
    };
    await copyTruths(job, 'noted');
    await copyTruths(job, 'after');
    await into.note(KNOWN_FILE, await source.read(KNOWN_FILE, 0, KNOWN_BYTES_MAX));
    await closeCleanly(target, 2, seq, { ...body, scrub: false });
    await writeFormat(target, format);
    await target.io.remove(target.pathOf(UNFINISHED_FILE));
    return { files: into.touched.size, copiedBytes: into.copiedBytes, reusedBytes: 0 };
  });
}

/** A record outweighs a file. */
async function findOpenTurns(files: StoreFiles): Promise<Set<number>> {
  const open = new Set<number>();
  for (const name of await listFolder(files, OPEN_FOLDER)) {
    const turn = openTurnNumber(`${OPEN_FOLDER}/${name}`);
    if (turn !== undefined && (await readSlot(files, turn)) === 'empty') open.add(turn);
  }
  return open;
}

/** Looks at the files that nothing but the note of the backup names. */
async function assertComplete(files: StoreFiles, state: BackupState): Promise<void> {
  const lengths = new Map(state.packs.map(({ number, length }) => [packFile(number), length]));
  lengths.set(ERASED_FILE, state.erased * ERASED_RECORD_BYTES);
  lengths.set(COLLECTED_FILE, state.collectedBytes);
  for (const [name, length] of lengths) {
    const size = await files.size(name);
    if (size < length) throw corrupt(name, size, `the file should have ${length} bytes`);
  }
  let logs = 0;
  for await (const _ of listLogs(files)) logs += 1;
  if (logs === state.logs) return;
  throw corrupt(EXTENTS_FOLDER, 0, `there should be ${state.logs} logs, and ${logs} are here`);
}

async function assertBackup(files: StoreFiles): Promise<void> {
  const { io, root } = files;
  const stat = await io.stat(root);
  if (stat === undefined) throw notFound('backup', root, `there is no backup at ${root}`);
  const names = stat.kind === 'folder' ? await io.list(root) : [];
  if (!names.includes(NOTE_FILE)) throw invalid('backup', `must be a backup, and ${root} is not`);
  if (!names.includes(FORMAT_FILE)) {
    throw invalid('backup', `must be whole, and the one at ${root} did not finish; run it again`);
  }
}
