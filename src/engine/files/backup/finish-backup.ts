import { encodeFormatFile } from '../../../format/format-file.ts';
import type { Writer } from '../commit/writer.ts';
import { FOLDERS, fileLengths } from '../core/truths.ts';
import { syncFolder } from '../disk/file-handles.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import {
  type Checkpoint,
  CHECKPOINT_FILES,
  FORMAT_FILE,
  readFormat,
  writeCheckpoint,
} from '../journal/checkpoint-file.ts';
import { SEGMENTS } from '../journal/journal.ts';
import { MARK_FILE } from '../journal/read-journal.ts';
import { REDO_PLACE, type RedoFrame } from '../journal/redo-frame.ts';
import { cutToTails, replayJournal } from '../core/replay.ts';
import type { CopySink } from '../truth/copy.ts';
import type { BackupFolder } from './backup-folder.ts';
import { type BackupState, replaceFile, sameTails, writeNote } from './backup-note.ts';
import { JOURNAL_START, closeCleanly } from './settle.ts';

/** Brings a whole folder to the new state with one checkpoint. */
export async function finishAtOnce(
  writer: Writer,
  folder: BackupFolder,
  { sink, redo, state }: { sink: CopySink; redo: RedoFrame; state: BackupState },
): Promise<void> {
  const { files, base } = folder;
  if (base === undefined) throw new TypeError('the folder is not a whole backup');
  const { checkpoint } = base;
  const { tails } = state;
  const { ages } = writer;
  const unchanged = redo.empty && sameTails(tails, checkpoint.body.tails);
  if (!unchanged) {
    await sink.sync();
    if (!redo.empty) await redo.finish(state.seq);
    await writeNote(files, { ...folder.note, next: state });
    let last: Checkpoint = checkpoint;
    if (!redo.empty) {
      const body = {
        clean: false,
        durability: 'safe',
        journal: REDO_PLACE,
        tails,
        ages,
        scrub: false,
      } as const;
      last = { generation: last.generation + 1, seq: last.seq, body };
      await writeCheckpoint(files, last);
      await replayJournal(files, last);
      await files.syncAll();
    }
    await closeCleanly(files, last, { seq: state.seq, tails, ages, scrub: false });
    await cutToTails(files, fileLengths(tails));
  }
  for (const name of SEGMENTS) await emptyFile(files, name);
  await settleNote(folder, unchanged ? { ...state, seq: checkpoint.seq } : state);
}

/** Gives a folder that was not in use its journal and, last of all, the file that makes it a store. */
export async function finishNew(
  writer: Writer,
  folder: BackupFolder,
  { sink, state }: { sink: CopySink; state: BackupState },
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
  { seq, tails, ages }: { seq: number } & Pick<Checkpoint['body'], 'tails' | 'ages'>,
): Promise<void> {
  const data = new Uint8Array();
  for (const path of [MARK_FILE, ...SEGMENTS, ...CHECKPOINT_FILES]) {
    await files.apply([{ kind: 'whole', path, data }]);
    await files.catchUp();
  }
  await files.syncAll();
  const body = {
    clean: true,
    durability: 'safe',
    journal: JOURNAL_START,
    tails,
    ages,
    scrub: false,
  } as const;
  await writeCheckpoint(files, { generation: 1, seq, body });
  for (const folder of FOLDERS) await syncFolder(files.io, files.pathOf(folder));
}

async function settleNote(folder: BackupFolder, state: BackupState): Promise<void> {
  const { store } = folder.note;
  folder.note = { store, whole: state, copied: [], copiedErased: 0 };
  await writeNote(folder.files, folder.note);
}

/** Frames of an earlier state are not needed, and could hold data that was erased since. */
async function emptyFile(files: StoreFiles, name: string): Promise<void> {
  if ((await files.size(name)) === 0) return;
  const file = await files.io.open(files.pathOf(name), 'write');
  try {
    await file.truncate(0);
    await file.sync();
  } finally {
    await file.close();
  }
}
