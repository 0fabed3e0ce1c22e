import { resolve } from 'node:path';
import { isQuipuError, QuipuError } from '../../../base/errors.ts';
import type { Progress } from '../../progress.ts';
import type { BackupReport } from '../../upkeep.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { corrupt, ifRoom, toQuipuError } from '../disk/io-error.ts';
import { SyncFailure } from '../disk/file-handles.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Writer } from '../commit/writer.ts';
import { copyTruths, fileLengths } from '../core/truths.ts';
import { logOfExtents } from '../logs/line-log.ts';
import { packNumber, packSize } from '../packs/pack-file.ts';
import { COLLECTED_FILE } from '../turns/turn-table.ts';
import {
  type BackupFolder,
  finishFolder,
  makeUnfinished,
  newId,
  notePack,
  visibleLengths,
  withBackupFolder,
} from './backup-folder.ts';
import type { CopiedState } from './backup-note.ts';
import { readKnown, withStates, writeKnown } from './known-backups.ts';
import {
  type Copied,
  type CopiedPack,
  type CopyRun,
  CopySink,
  newCopied,
  type PackSpan,
} from '../truth/copy.ts';
import { RedoFrame, RedoFull } from '../journal/redo-frame.ts';
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
  { progress, redoBytes }: BackupOptions,
): Promise<BackupReport> {
  const { core, ages } = writer;
  const { files, base, erased } = folder;
  const redo = base && new RedoFrame(files, redoBytes);
  const into = new CopySink(files, redo, base && visibleLengths(base.checkpoint.body));
  if (base === undefined) await makeUnfinished(folder);
  const { copied, reusedBytes } = await findCopied(folder);
  const run: CopyRun = {
    from: core.files,
    into,
    progress,
    copied,
    trusted: base !== undefined,
    openTurns: core.openTurns,
    between: (work) => writer.exclusively(work),
    hasLog: (name) => core.hasLog(name),
    async onClosed(pack) {
      await into.sync();
      await notePack(folder, pack);
    },
  };
  let moment: Moment;
  try {
    moment = await copyStore(writer, run);
  } catch (error) {
    // The damage is in the store: the folder was checked before.
    if (isQuipuError(error, 'CORRUPT')) throw cannotCopy(error);
    if (!(error instanceof RedoFull)) throw error;
    folder.base = undefined;
    return backUp(writer, folder, { progress });
  }
  const packs = closedPacks(copied.packs.values());
  const collectedBytes = await core.files.size(COLLECTED_FILE);
  const name = await nameState(core.files, folder);
  const state = { ...moment, packs, logs: copied.logs.size, erased, collectedBytes, ...name };
  await finishFolder(folder, state, { into, redo, ages });
  return { files: into.touchedFiles, copiedBytes: into.copiedBytes, reusedBytes };
}

/**
 * The store knows the new state before the folder has it, and so does the copy. If the store has no room for that, the
 * state has no name.
 */
async function nameState(
  store: StoreFiles,
  { files, id: folder, base }: BackupFolder,
): Promise<{ id?: string }> {
  const id = newId();
  const states = base?.state.id === undefined ? [id] : [base.state.id, id];
  const known = withStates(await readKnown(store), folder, states);
  const isKnown = await ifRoom(async () => {
    await writeKnown(store, known);
    return true;
  });
  if (isKnown === undefined) return {};
  await writeKnown(files, known);
  return { id };
}

/** The store at one moment. */
type Moment = Pick<CopiedState, 'frame' | 'at' | 'tails' | 'openTurns'>;

/** Copies every truth beside writers, and then the frames that were written meanwhile. All is in the sink then. */
async function copyStore(writer: Writer, run: CopyRun): Promise<Moment> {
  const { core } = writer;
  await core.files.catchUp();
  await copyTruths(run, 'ahead', core.tails);
  const noted: JournalWrite[] = [];
  // The bytes of packs are not kept: they stay as they are, and are copied from the packs afterwards.
  core.onFrame = (writes) =>
    void noted.push(...writes.filter(({ path }) => packNumber(path) === undefined));
  let moment: Moment;
  try {
    await copyTruths(run, 'noted', core.tails);
    moment = await writer.exclusively(async () => takeMoment(writer));
  } finally {
    core.onFrame = undefined;
  }
  for (const write of noted) {
    await run.into.take(write);
    noteLog(run.copied.logs, write);
  }
  await copyTruths(run, 'after', moment.tails);
  return moment;
}

function takeMoment({ core, seq, nowMs }: Writer): Moment {
  const openTurns = [...core.openTurns.keys()];
  return { frame: seq, at: new Date(nowMs).toISOString(), tails: core.tails, openTurns };
}

/** The parts that the folder already has, and their bytes. A pack that is too short there is copied again. */
async function findCopied({
  files,
  base,
  packs: closed,
  followed,
}: BackupFolder): Promise<{ copied: Copied; reusedBytes: number }> {
  const state = base?.state;
  const packs = new Map<number, PackSpan>();
  for (const { number, length } of state?.tails.packs ?? []) {
    packs.set(number, { number, length, closed: false });
  }
  for (const pack of closed.values()) packs.set(pack.number, { ...pack, closed: true });
  let reusedBytes = 0;
  for (const { number, length } of packs.values()) {
    if ((await packSize(files, number)) < length) packs.delete(number);
    else reusedBytes += length;
  }
  for (const [name, length] of state === undefined ? [] : fileLengths(state.tails)) {
    if (packNumber(name) === undefined) reusedBytes += length;
  }
  return { copied: newCopied(state, packs, followed), reusedBytes };
}

function closedPacks(packs: Iterable<PackSpan>): CopiedPack[] {
  return [...packs]
    .filter(({ closed }) => closed)
    .map(({ number, length }) => ({ number, length }))
    .sort((a, b) => a.number - b.number);
}

function noteLog(logs: Set<string>, { kind, path }: JournalWrite): void {
  const log = logOfExtents(path);
  if (log === undefined) return;
  if (kind === 'remove') logs.delete(log);
  else logs.add(log);
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
