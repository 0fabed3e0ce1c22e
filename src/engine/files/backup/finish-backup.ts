import { encodeFormatFile, type FormatFile } from '../../../format/format-file.ts';
import type { Writer } from '../commit/writer.ts';
import { cutToTails } from '../core/replay.ts';
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
  settle,
  writeNote,
} from './backup-note.ts';

// The last steps of a backup, which make the copied state count.

interface Finished {
  readonly sink: CopySink;
  readonly state: BackupState;
}

/** Brings a whole folder to the new state: a checkpoint that points at the frame makes the state count. */
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
    await redo.finish(state.seq);
    const note = { ...folder.note, next: state };
    await writeNote(files, note);
    const now = { tails, ages, scrub: false, clean: false } as const;
    const body = { ...now, durability: 'safe', journal: REDO_PLACE } as const;
    const checkpoint = { generation: generation + 1, seq, body };
    await writeCheckpoint(files, checkpoint);
    await settle(files, note, checkpoint);
    await cutToTails(files, fileLengths(tails));
  }
  // Frames of an earlier state are not needed, and could hold data that was erased since.
  await cutToTails(files, new Map(SEGMENTS.map((name) => [name, 0])));
  await settleNote(folder, isChanged ? state : { ...state, seq });
}

/** Makes a folder that was not in use a store. */
export async function finishNew(
  writer: Writer,
  folder: BackupFolder,
  { sink, state }: Finished,
): Promise<void> {
  const { files } = folder;
  await sink.sync();
  await cutToTails(files, fileLengths(state.tails));
  await writeNote(files, { ...folder.note, next: state });
  const format = await readFormat(writer.core.files);
  await makeStore(files, format, { seq: state.seq, tails: state.tails, ages: writer.ages });
  await settleNote(folder, state);
}

/**
 * Makes copied files a store that was closed cleanly: gives them an empty journal and, last of all, FORMAT. In the end
 * all is durable, folders included.
 */
export async function makeStore(
  files: StoreFiles,
  format: FormatFile,
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
  await replaceFile(files, FORMAT_FILE, encodeFormatFile(format));
}

async function settleNote(folder: BackupFolder, state: BackupState): Promise<void> {
  const { store } = folder.note;
  folder.note = { store, whole: state, copied: [], copiedErased: 0 };
  await writeNote(folder.files, folder.note);
}
