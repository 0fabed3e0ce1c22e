import { resolve } from 'node:path';
import { QuipuError, invalid, isQuipuError } from '../../../base/errors.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import type { FormatFile } from '../../../format/format-file.ts';
import { ERASED_RECORD_BYTES } from '../../../format/blob-record.ts';
import type { Io } from '../../io.ts';
import type { Progress } from '../../progress.ts';
import type { BackupReport } from '../../upkeep.ts';
import { layOut, writeFormat } from '../core/create-files.ts';
import { copyTruths } from '../core/truths.ts';
import { SyncFailure } from '../disk/file-handles.ts';
import { corrupt, toQuipuError } from '../disk/io-error.ts';
import { listFolder, makeFolder } from '../disk/folders.ts';
import { StoreFiles } from '../disk/store-files.ts';
import { FORMAT_FILE, readFormat } from '../journal/checkpoint-file.ts';
import { EXTENTS_FOLDER } from '../logs/line-log.ts';
import { listLogs } from '../logs/logs.ts';
import { OPEN_FOLDER, openTurnNumber } from '../open-turns/open-turns.ts';
import { ERASED_FILE } from '../packs/erased-blobs.ts';
import { packFile } from '../packs/pack-file.ts';
import type { CopyJob } from '../truth/copy.ts';
import { COLLECTED_FILE, readSlot } from '../turns/turn-table.ts';
import {
  assertApart,
  closeCleanly,
  isAsGoodAsEmpty,
  NOTHING,
  settle,
  withLock,
} from './backup-folder.ts';
import { type BackupState, NOTE_FILE, readNote } from './backup-note.ts';
import { CopySink } from './copy-sink.ts';
import { encodeKnown, KNOWN_FILE, readKnown } from './known-backups.ts';

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
    const format = await readFormat(source);
    source.format = format;
    await assertEmpty(target);
    // Nobody may change the backup meanwhile.
    return await withLock(source, () => restore(source, target, format, progress));
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
    await into.note(KNOWN_FILE, encodeKnown(await readKnown(source)));
    await closeCleanly(target, 2, seq, { ...body, scrub: false });
    await writeFormat(target, format);
    await target.io.remove(target.pathOf(UNFINISHED_FILE));
    return { files: into.touchedFiles, copiedBytes: into.copiedBytes, reusedBytes: 0 };
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
