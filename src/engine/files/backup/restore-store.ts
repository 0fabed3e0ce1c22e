import { resolve } from 'node:path';
import { QuipuError, invalid, isQuipuError } from '../../../base/errors.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { ERASED_RECORD_BYTES } from '../../../format/erased-record.ts';
import type { Io } from '../../io.ts';
import type { Progress } from '../../progress.ts';
import type { BackupReport } from '../../upkeep.ts';
import { layOut, writeFormat } from '../core/create-files.ts';
import { copyTruths } from '../core/truths.ts';
import { SyncFailure } from '../disk/file-handles.ts';
import { corrupt, toQuipuError } from '../disk/io-error.ts';
import { makeFolder } from '../disk/folders.ts';
import { StoreFiles } from '../disk/store-files.ts';
import {
  type Checkpoint,
  FORMAT_FILE,
  readCheckpoint,
  readFormat,
} from '../journal/checkpoint-file.ts';
import { EXTENTS_FOLDER } from '../logs/line-log.ts';
import { listLogs } from '../logs/logs.ts';
import { OPEN_FOLDER } from '../open-turns/open-turns.ts';
import { ERASED_FILE } from '../packs/erased-blobs.ts';
import { packFile } from '../packs/pack-file.ts';
import { type CopyRun, CopySink, newCopied } from '../truth/copy.ts';
import { COLLECTED_FILE } from '../turns/turn-table.ts';
import { assertApart, closeCleanly, isAsGoodAsEmpty, settle, withLock } from './backup-folder.ts';
import { type BackupNote, NOTE_FILE, readNote, sameTails } from './backup-note.ts';
import { readKnown, writeKnown } from './known-backups.ts';

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
    await assertEmpty(target);
    // Nobody may change the backup meanwhile.
    return await withLock(source, () => restore(source, target, progress));
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
  const note = await readNote(source);
  if (note === undefined) throw corrupt(NOTE_FILE, 0, 'the file is damaged');
  const checkpoint = await settle(source, note, await readCheckpoint(source));
  await assertComplete(source, note, checkpoint);
  const format = await readFormat(source);
  await makeFolder(target.io, target.root);
  return withLock(target, async () => {
    await target.replace(UNFINISHED_FILE, [encodeUtf8(MARKER_TEXT)]);
    await layOut(target, format, 'safe');
    const into = new CopySink(target);
    await copyTruths(await runOf(source, into, progress), 'noted', checkpoint.body.tails);
    await into.sync();
    await writeKnown(target, await readKnown(source));
    const { tails, ages } = checkpoint.body;
    await closeCleanly(target, 2, checkpoint.seq, { tails, ages, scrub: false });
    await writeFormat(target, format);
    await target.io.remove(target.pathOf(UNFINISHED_FILE));
    return { files: into.touchedFiles, copiedBytes: into.copiedBytes, reusedBytes: 0 };
  });
}

async function runOf(
  from: StoreFiles,
  into: CopySink,
  progress: Progress | undefined,
): Promise<CopyRun> {
  const names = await from.io.list(from.pathOf(OPEN_FOLDER));
  return {
    from,
    into,
    progress,
    copied: newCopied(),
    trusted: false,
    openTurns: new Set(names.map(Number)),
    between: (work) => work(),
    hasLog: async () => true,
    onClosed: async () => undefined,
  };
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
}

async function assertEmpty(files: StoreFiles): Promise<void> {
  const { io, root } = files;
  const stat = await io.stat(root);
  if (stat === undefined || (stat.kind === 'folder' && (await isAsGoodAsEmpty(files)))) return;
  throw invalid('store', `must be restored to a new or empty folder, and ${root} is not empty`);
}
