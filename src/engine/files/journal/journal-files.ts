import { isQuipuError } from '../../../base/errors.ts';
import {
  decodeCheckpoint,
  decodeMark,
  type JournalWrite,
  MARK_BYTES,
} from '../../../format/journal-frame.ts';
import { decodeFormatFile, encodeFormatFile } from '../../../format/format-file.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Check, Found, Remedy } from '../truth/check.ts';
import { cannot, type Mend, type Truth } from '../truth/truth.ts';
import {
  type Checkpoint,
  CHECKPOINT_FILES,
  type CheckpointBody,
  FORMAT_FILE,
  readFormat,
} from './checkpoint-file.ts';
import { JOURNAL_FOLDER, MARK_FILE, readJournal, SEGMENTS } from './journal.ts';

// The journal, its checkpoints and the mark, and FORMAT, which a checkpoint repeats.        docs/format/journal.md
// Invariants
// - A frame counts once it is durable. Carrying it out twice changes nothing.
// - A checkpoint is in one file before the other one is touched, so one of the two can always be read.
// - While a store is open, its journal is needed only after a power cut, and a checkpoint rewrites all of it. So
//   damage here is stale and not lost, as long as it is noticed.

export const JOURNAL: Truth = {
  name: 'journal',
  folders: [JOURNAL_FOLDER],
  files: [MARK_FILE, ...SEGMENTS, ...CHECKPOINT_FILES].map((name) => ({ name })),
  owns: () => false,
  lengths: () => [],
  advance: (tails) => tails,
  replay: cannot('no frame writes to the journal'),
  rebuild: cannot('the index knows what is in the files, and not how it came there'),
  check: checkJournal,
  mend: { after: 'index', run: mendJournal },
  copy: cannot('a copy is a store that was closed cleanly, and begins with an empty journal'),
};

const CHECKPOINT_TRIES = 5;
const CHECKPOINT_WAIT_MS = 20;

async function checkJournal(check: Check): Promise<void> {
  const { files, findings, writer } = check;
  const format = decodeFormatFile(await files.read(FORMAT_FILE, 0, 4096));
  if (format === undefined) {
    const length = await files.size(FORMAT_FILE);
    const what = `the file is ${length === 0 ? 'gone' : 'damaged'}; the checkpoint says the same`;
    const about = { file: FORMAT_FILE, offset: 0, length };
    findings.add({ what, ...about, severity: 'stale', remedy: 'format' });
  }
  const newest = await checkCheckpoints(check);
  await writer.exclusively(() => checkFrames(check, newest));
}

/** A checkpoint may be on its way to the disk, so an unreadable one is read again. */
async function checkCheckpoints({ files, findings }: Check): Promise<Checkpoint | undefined> {
  for (let tries = 1; ; tries += 1) {
    const found = [
      await readOne(files, CHECKPOINT_FILES[0]),
      await readOne(files, CHECKPOINT_FILES[1]),
    ];
    const whole = found.filter((one) => one !== 'damaged').filter((one) => one !== 'empty');
    whole.sort((a, b) => b.generation - a.generation);
    if (!found.includes('damaged') || tries === CHECKPOINT_TRIES) {
      for (const [at, file] of CHECKPOINT_FILES.entries()) {
        if (found[at] === 'damaged') findings.add(stale(file, 0, 'the checkpoint is damaged'));
      }
      return whole[0];
    }
    await new Promise((resolve) => setTimeout(resolve, CHECKPOINT_WAIT_MS));
  }
}

async function readOne(files: StoreFiles, name: string): Promise<Checkpoint | 'empty' | 'damaged'> {
  const length = await files.size(name);
  // The second file stays empty until there is a second checkpoint.
  if (length === 0) return name === CHECKPOINT_FILES[1] ? 'empty' : 'damaged';
  const found = decodeCheckpoint(await files.read(name, 0, length));
  return found === undefined ? 'damaged' : { ...found, body: found.body as CheckpointBody };
}

/** Reads every frame that a power cut now would need, up to the last acknowledged one. */
async function checkFrames(
  { files, findings, writer }: Check,
  newest: Checkpoint | undefined,
): Promise<void> {
  const mark = await files.read(MARK_FILE, 0, MARK_BYTES);
  const marked = decodeMark(mark);
  // A store that was restored and not written to since has no frame at all.
  if (mark.length > 0 && (marked === undefined || marked > writer.seq)) {
    findings.add(stale(MARK_FILE, 0, 'the mark of the last frame is damaged'));
  }
  if (newest === undefined) return;
  const { seq, body } = newest;
  try {
    const last = await readJournal(files, { ...body.journal, seq, synced: true }, async () => {});
    if (last < writer.seq) {
      const { segment, position } = body.journal;
      findings.add(stale(SEGMENTS[segment], position, `frame ${last + 1} cannot be read`));
    }
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    const { file, offset } = error.data;
    findings.add(stale(file, offset, 'a frame is damaged'));
  }
}

function stale(file: string, offset: number, what: string): Found {
  return { what, file, offset, severity: 'stale', length: 0, remedy: 'journal' };
}

async function mendJournal({ writer, found }: Mend): Promise<void> {
  const { files } = writer.core;
  const has = (wanted: Remedy): boolean => found.some(({ remedy }) => remedy === wanted);
  if (has('format')) {
    const data = encodeFormatFile(await readFormat(files));
    const write: JournalWrite = { kind: 'whole', path: FORMAT_FILE, data };
    await writer.exclusively(() => writer.storeWrites([write]));
  }
  // Two frames and two checkpoints: each of the two checkpoint files is rewritten.
  for (let times = 0; has('journal') && times < 2; times += 1) {
    await writer.exclusively(() => writer.storeWrites([]));
    await writer.checkpoint();
  }
}
