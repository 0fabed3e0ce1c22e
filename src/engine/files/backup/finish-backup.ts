import { encodeFormatFile } from '../../../format/format-file.ts';
import type { Writer } from '../commit/writer.ts';
import { cutToTails, replayJournal } from '../core/replay.ts';
import { FOLDERS, fileLengths } from '../core/truths.ts';
import { syncFolder } from '../disk/file-handles.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import {
  type Checkpoint,
  type CheckpointBody,
  FORMAT_FILE,
  readFormat,
  writeCheckpoint,
} from '../journal/checkpoint-file.ts';
import { JOURNAL } from '../journal/journal-files.ts';
import { SEGMENTS } from '../journal/journal.ts';
import { REDO_PLACE, type RedoFrame } from '../journal/redo-frame.ts';
import type { CopySink } from '../truth/copy.ts';
import type { BackupFolder } from './backup-folder.ts';
import {
  type BackupState,
  closeCleanly,
  replaceFile,
  sameTails,
  writeNote,
} from './backup-note.ts';

// The last steps of a backup, which make the copied state count.

interface Finished {
  readonly sink: CopySink;
  readonly state: BackupState;
}

/** Brings a whole folder to the new state with one checkpoint. */
export async function finishAtOnce(
  { ages }: Writer,
  folder: BackupFolder,
  { base, sink, redo, state }: Finished & { base: { checkpoint: Checkpoint }; redo: RedoFrame },
): Promise<void> {
  const { files } = folder;
  const { generation, seq, body: before } = base.checkpoint;
  const { tails } = state;
  const isChanged = !redo.empty || !sameTails(tails, before.tails);
  if (isChanged) {
    await sink.sync();
    if (!redo.empty) await redo.finish(state.seq);
    await writeNote(files, { ...folder.note, next: state });
    const now = { tails, ages, scrub: false };
    if (!redo.empty) {
      const body = { ...now, clean: false, durability: 'safe', journal: REDO_PLACE } as const;
      const last = { generation: generation + 1, seq, body };
      await writeCheckpoint(files, last);
      await replayJournal(files, last);
      await files.syncAll();
    }
    await closeCleanly(files, generation + 2, state.seq, now);
    await cutToTails(files, fileLengths(tails));
  }
  // Frames of an earlier state are not needed, and could hold data that was erased since.
  await cutToTails(files, new Map(SEGMENTS.map((name) => [name, 0])));
  await settleNote(folder, isChanged ? state : { ...state, seq });
}

/** Gives a folder that was not in use its journal and, last of all, the file that makes it a store. */
export async function finishNew(
  writer: Writer,
  folder: BackupFolder,
  { sink, state }: Finished,
): Promise<void> {
  const { files } = folder;
  await sink.sync();
  await cutToTails(files, fileLengths(state.tails));
  await writeNote(files, { ...folder.note, next: state });
  await layJournal(files, { seq: state.seq, tails: state.tails, ages: writer.ages });
  const format = await readFormat(writer.core.files);
  await replaceFile(files, FORMAT_FILE, encodeFormatFile(format));
  await settleNote(folder, state);
}

/** Writes an empty journal and the checkpoint of a clean close. In the end all is durable, folders included. */
export async function layJournal(
  files: StoreFiles,
  { seq, tails, ages }: { seq: number } & Pick<CheckpointBody, 'tails' | 'ages'>,
): Promise<void> {
  const data = new Uint8Array();
  for (const { name: path } of JOURNAL.files) {
    await files.apply([{ kind: 'whole', path, data }]);
    await files.catchUp();
  }
  await files.syncAll();
  await closeCleanly(files, 1, seq, { tails, ages, scrub: false });
  for (const folder of FOLDERS) await syncFolder(files.io, files.pathOf(folder));
}

async function settleNote(folder: BackupFolder, state: BackupState): Promise<void> {
  const { store } = folder.note;
  folder.note = { store, whole: state, copied: [], copiedErased: 0 };
  await writeNote(folder.files, folder.note);
}
