import { resolve } from 'node:path';
import { isQuipuError, QuipuError } from '../../../base/errors.ts';
import type { Progress } from '../../progress.ts';
import type { BackupReport } from '../../upkeep.ts';
import { corrupt, toQuipuError } from '../disk/io-error.ts';
import { SyncFailure } from '../disk/file-handles.ts';
import type { Writer } from '../commit/writer.ts';
import {
  type BackupFolder,
  finishFolder,
  makeUnfinished,
  visibleLengths,
  withBackupFolder,
} from './backup-folder.ts';
import { copyStore } from './copy-store.ts';
import { CopySink } from '../truth/copy.ts';
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
  const { files, base } = folder;
  const redo = base && new RedoFrame(files, redoBytes);
  const into = new CopySink(files, redo, base && visibleLengths(base.checkpoint.body));
  if (base === undefined) await makeUnfinished(folder);
  let copied: Awaited<ReturnType<typeof copyStore>>;
  try {
    copied = await copyStore({ writer, folder, into, progress });
  } catch (error) {
    // The damage is in the store: the folder was checked before.
    if (isQuipuError(error, 'CORRUPT')) throw cannotCopy(error);
    if (!(error instanceof RedoFull)) throw error;
    folder.base = undefined;
    return backUp(writer, folder, { progress });
  }
  await finishFolder(folder, copied.state, { into, redo, ages: writer.ages });
  return copied.report;
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
