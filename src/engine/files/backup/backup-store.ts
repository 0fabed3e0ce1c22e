import { resolve } from 'node:path';
import { isQuipuError, QuipuError } from '../../../base/errors.ts';
import type { Progress } from '../../progress.ts';
import type { BackupReport } from '../../upkeep.ts';
import { ERASED_RECORD_BYTES } from '../../../format/blob-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { corrupt, ifRoom, toQuipuError } from '../disk/io-error.ts';
import { SyncFailure } from '../disk/file-handles.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Writer } from '../commit/writer.ts';
import { copyTruths, fileLengths, isNoted } from '../core/truths.ts';
import { logOfExtents } from '../logs/line-log.ts';
import { packNumber } from '../packs/pack-file.ts';
import { COLLECTED_FILE } from '../turns/turn-table.ts';
import type { CopiedPack, CopyJob, PackSpan } from '../truth/copy.ts';
import {
  type BackupFolder,
  findPacks,
  finishFolder,
  makeUnfinished,
  newId,
  NOTHING,
  visibleLengths,
  withBackupFolder,
} from './backup-folder.ts';
import type { BackupState } from './backup-note.ts';
import { CopySink, RedoFull } from './copy-sink.ts';
import { encodeKnown, KNOWN_FILE, readKnown, withStates } from './known-backups.ts';
import { noteBackup } from './last-backup.ts';

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
    try {
      const report = await withBackupFolder(writer.core.files, path, (folder) =>
        backUp(writer, folder, options),
      );
      await options.also?.();
      await noteBackup(writer.core.files, Date.now());
      return report;
    } catch (error) {
      throw toQuipuError(error instanceof SyncFailure ? error.cause : error, path);
    }
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
  const reusedBytes = reusedIn(packs, base?.state);
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
  let moment: Moment;
  try {
    moment = await copyStore(writer, job, into);
  } catch (error) {
    // The damage is in the store: the folder was checked before.
    if (isQuipuError(error, 'CORRUPT')) throw cannotCopy(error);
    if (!(error instanceof RedoFull)) throw error;
    return backUp(writer, { ...folder, base: undefined }, options);
  }
  const state = {
    ...moment,
    ...(await nameState(core.files, folder, into)),
    packs: closedPacks(packs.values()),
    logs: job.logs.size,
    erased,
    collectedBytes: await core.files.size(COLLECTED_FILE),
  };
  await finishFolder(folder, into, state, writer.ages);
  return { files: into.touchedFiles, copiedBytes: into.copiedBytes, reusedBytes };
}

/** The store at one moment. */
type Moment = Pick<BackupState, 'frame' | 'at' | 'tails' | 'openTurns'>;

/** Copies every truth beside writers, and the frames that were written meanwhile. All is in the sink then. */
async function copyStore(writer: Writer, job: CopyJob, into: CopySink): Promise<Moment> {
  const { core } = writer;
  await core.files.catchUp();
  const noted: JournalWrite[] = [];
  core.onFrame = (writes) => void noted.push(...writes.filter(({ path }) => isNoted(path)));
  let moment: Moment;
  try {
    await copyTruths(job, 'noted');
    moment = await writer.exclusively(async () => takeMoment(writer));
  } finally {
    core.onFrame = undefined;
  }
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

/** Nothing is noted after this moment. */
function takeMoment({ core, seq, nowMs }: Writer): Moment {
  core.onFrame = undefined;
  const openTurns = [...core.openTurns.keys()];
  return { frame: seq, at: new Date(nowMs).toISOString(), tails: core.tails, openTurns };
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
  const data = encodeKnown(withStates(await readKnown(store), folder, states));
  const isKnown = await ifRoom(() => store.replace(KNOWN_FILE, [data]).then(() => true));
  if (isKnown === undefined) return {};
  await into.note(KNOWN_FILE, data);
  return { id };
}

/** The bytes that the copy has already. */
function reusedIn(packs: ReadonlyMap<number, PackSpan>, state: BackupState | undefined): number {
  let bytes = 0;
  for (const { length } of packs.values()) bytes += length;
  for (const [name, length] of state === undefined ? [] : fileLengths(state.tails)) {
    if (packNumber(name) === undefined) bytes += length;
  }
  return bytes;
}

function closedPacks(packs: Iterable<PackSpan>): CopiedPack[] {
  return [...packs]
    .filter(({ closed }) => closed)
    .map(({ number, length }) => ({ number, length }))
    .sort((a, b) => a.number - b.number);
}

function cannotCopy(error: QuipuError<'CORRUPT'>): QuipuError<'CORRUPT'> {
  const { file, offset } = error.data;
  return new QuipuError(
    'CORRUPT',
    `the store is damaged, in ${file} at byte ${offset}, and damage is not copied: the backup before stays as it is. "quipu verify" says what is lost; restore it from there, or give a blob up with "quipu blob rm <hash> --everywhere", and back up again`,
    { file, offset },
    { cause: error },
  );
}
