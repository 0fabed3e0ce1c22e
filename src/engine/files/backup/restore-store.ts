import { resolve } from 'node:path';
import { QuipuError, invalid, isQuipuError } from '../../../base/errors.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { ERASED_RECORD_BYTES } from '../../../format/erased-record.ts';
import { frameSaltOf } from '../../../format/format-file.ts';
import type { Io, IoLock } from '../../io.ts';
import type { Progress } from '../../progress.ts';
import type { BackupReport } from '../../upkeep.ts';
import { FOLDERS, TRUTHS } from '../core/truths.ts';
import { SyncFailure } from '../disk/file-handles.ts';
import { corrupt, toQuipuError } from '../disk/io-error.ts';
import { makeFolder } from '../disk/folders.ts';
import { LOCK_FILE } from '../disk/owner-lock.ts';
import { describeOwner } from '../disk/owner-note.ts';
import { StoreFiles } from '../disk/store-files.ts';
import {
  type Checkpoint,
  FORMAT_FILE,
  readCheckpoint,
  readFormat,
} from '../journal/checkpoint-file.ts';
import { EXTENTS_FOLDER } from '../logs/line-log.ts';
import { listLogs } from '../logs/logs.ts';
import { OPEN_FOLDER } from '../open-turns/open-turn-file.ts';
import { ERASED_FILE } from '../packs/erased-blobs.ts';
import { packFile } from '../packs/pack-file.ts';
import { type CopyJob, CopySink, newCopied } from '../truth/copy.ts';
import { can } from '../truth/truth.ts';
import { COLLECTED_FILE } from '../turns/turn-table.ts';
import { assertApart, isAsGoodAsEmpty } from './backup-folder.ts';
import {
  type BackupNote,
  NOTE_FILE,
  readNote,
  replaceFile,
  sameTails,
  settle,
} from './backup-note.ts';
import { makeStore } from './finish-backup.ts';

// A restore turns a backup into a store again. Every record is checked while it is copied, so a damaged backup is
// refused with the place of the damage. FORMAT comes last, so an unfinished restore cannot be opened.

/** Marks a folder in which a restore did not finish. */
export const UNFINISHED_FILE = 'restore.unfinished';
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
    source.format = await readFormat(source);
    target.format = source.format;
    source.frameSalt = frameSaltOf(source.format.store);
    target.frameSalt = source.frameSalt;
    await assertEmpty(target);
    const reading = await tryLock(source);
    try {
      return await restore(source, target, progress);
    } finally {
      await source.close();
      await reading?.release();
    }
  } catch (error) {
    const failure = toQuipuError(error instanceof SyncFailure ? error.cause : error, target.root);
    if (!isQuipuError(failure, 'CORRUPT')) throw failure;
    const { file, offset } = failure.data;
    const message = `the backup at ${source.root} is damaged: ${failure.message}`;
    throw new QuipuError('CORRUPT', message, { file, offset }, { cause: failure });
  }
}

async function restore(
  source: StoreFiles,
  target: StoreFiles,
  progress: Progress | undefined,
): Promise<BackupReport> {
  const { io } = target;
  const note = await readNote(source);
  if (note === undefined) throw corrupt(NOTE_FILE, 0, 'the file is damaged');
  const checkpoint = await settle(source, note, await readCheckpoint(source));
  await makeFolder(io, target.root);
  const lock = await io.lock(target.pathOf(LOCK_FILE), describeOwner());
  try {
    await replaceFile(target, UNFINISHED_FILE, encodeUtf8(MARKER_TEXT));
    for (const folder of FOLDERS) await io.mkdir(target.pathOf(folder));
    const into = new CopySink(target);
    await assertComplete(source, note, checkpoint);
    await copyAll({ from: source, into, progress }, checkpoint);
    await into.sync();
    const { tails, ages } = checkpoint.body;
    await makeStore(target, await readFormat(source), { seq: checkpoint.seq, tails, ages });
    await io.remove(target.pathOf(UNFINISHED_FILE));
    return { files: into.touchedFiles, copiedBytes: into.copiedBytes, reusedBytes: 0 };
  } finally {
    await target.close();
    await lock.release();
  }
}

async function copyAll(
  { from, into, progress }: Pick<CopyJob, 'from' | 'into' | 'progress'>,
  { body }: Checkpoint,
): Promise<void> {
  const names = await from.io.list(from.pathOf(OPEN_FOLDER));
  const job: CopyJob = {
    from,
    into,
    progress,
    phase: 'noted',
    tails: body.tails,
    copied: newCopied(),
    trusted: false,
    knownHeads: 0,
    openTurns: new Set(names.map(Number)),
    between: (work) => work(),
    hasLog: async () => true,
    onClosed: async () => undefined,
  };
  for (const { copy } of TRUTHS) if (can(copy)) await copy(job);
}

/** Counts files that nothing else names, unless the backup was written to since. */
async function assertComplete(
  files: StoreFiles,
  note: BackupNote,
  { seq, body }: Checkpoint,
): Promise<void> {
  const made = [note.next, note.whole].find(
    (state) => state?.seq === seq && sameTails(state.tails, body.tails),
  );
  if (made === undefined) return;
  for (const { number, length } of made.packs) {
    const size = await files.size(packFile(number));
    if (size < length)
      throw corrupt(packFile(number), size, `the pack should have ${length} bytes`);
  }
  let logs = 0;
  for await (const _ of listLogs(files)) logs += 1;
  if (logs !== made.logs) {
    throw corrupt(EXTENTS_FOLDER, 0, `there should be ${made.logs} logs, and ${logs} are here`);
  }
  await assertSize(files, ERASED_FILE, made.erased * ERASED_RECORD_BYTES);
  await assertSize(files, COLLECTED_FILE, made.collectedBytes);
}

async function assertSize(files: StoreFiles, name: string, bytes: number): Promise<void> {
  const size = await files.size(name);
  if (size !== bytes) throw corrupt(name, size, `the file should have ${bytes} bytes`);
}

async function assertBackup(files: StoreFiles): Promise<void> {
  const { io, root } = files;
  const stat = await io.stat(root);
  if (stat === undefined) {
    throw new QuipuError('NOT_FOUND', `there is no backup at ${root}`, {
      what: 'backup',
      id: root,
    });
  }
  const names = stat.kind === 'folder' ? await io.list(root) : [];
  if (!names.includes(NOTE_FILE)) throw invalid('backup', `must be a backup, and ${root} is not`);
  if (!names.includes(FORMAT_FILE)) {
    throw invalid('backup', `must be whole, and the one at ${root} did not finish; run it again`);
  }
  await readFormat(files);
}

async function assertEmpty({ io, root }: StoreFiles): Promise<void> {
  const stat = await io.stat(root);
  if (stat === undefined) return;
  if (stat.kind === 'folder' && isAsGoodAsEmpty(await io.list(root))) return;
  throw invalid('store', `must be restored to a new or empty folder, and ${root} is not empty`);
}

/** The lock keeps others from changing the backup meanwhile. A read-only medium cannot be changed or locked. */
async function tryLock(files: StoreFiles): Promise<IoLock | undefined> {
  try {
    return await files.io.lock(files.pathOf(LOCK_FILE), describeOwner());
  } catch (error) {
    if (isQuipuError(error, 'LOCKED')) throw error;
    return undefined;
  }
}
