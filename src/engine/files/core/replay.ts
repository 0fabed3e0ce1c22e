import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { Checkpoint } from '../journal/checkpoint-file.ts';
import { withFile } from '../disk/file-handles.ts';
import { corrupt, ifRoom, withCodes } from '../disk/io-error.ts';
import {
  type JournalStart,
  markedSeq,
  readJournal,
  secureLastFrame,
  SEGMENTS,
} from '../journal/journal.ts';
import { ERASED_FILE } from '../packs/erased-blobs.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { isTails, type Tails } from '../truth/state.ts';
import { advanceTails, fileLengths } from './truths.ts';

export interface Replayed {
  /** The last frame number in use. */
  readonly seq: number;
  readonly tails: Tails;
  /** False when the checkpoint covered everything. */
  readonly any: boolean;
  /** True when something was erased, and its bytes may be in the frames before. */
  readonly erased: boolean;
}

/**
 * Applies every frame after the checkpoint to the files, again if need be. A frame says which bytes stand where, so
 * applying it twice changes nothing. The files are not synced yet. `onFull` is called when there is no room for a
 * write, which then waits. Without it, that is a failure.
 */
export async function replayJournal(
  files: StoreFiles,
  checkpoint: Checkpoint,
  onFull?: () => void,
): Promise<Replayed> {
  const left = (work: () => Promise<void>): Promise<void> =>
    onFull === undefined ? work() : ifRoom(work, onFull);
  const { seq, body } = checkpoint;
  let { tails } = body;
  let erased = false;
  await assertPossible(files, tails);
  // A clean close is trusted, unless something was acknowledged after it.
  if (body.clean && (await markedSeq(files)) <= seq)
    return { seq, tails, any: false, erased: false };
  const start = startOf(checkpoint);
  if (start.synced) await left(() => secureLastFrame(files, start));
  const last = await readJournal(files, start, async (frame, writes, at) => {
    await checkExtents(files, writes);
    const next = writes.reduce(advanceTails, tails);
    if (!isTails(next) || !(await areWithin(files, tails, writes))) {
      throw corrupt(SEGMENTS[at.segment], at.position, `frame ${frame} cannot be of this store`);
    }
    await files.apply(writes);
    await left(() => files.catchUp());
    tails = next;
    erased ||= writes.some(({ path }) => path === ERASED_FILE);
  });
  return { seq: last, tails, any: true, erased };
}

/**
 * A file that was lost may be shorter than its tail by this much: 33 million turns. Beyond that the number is forged,
 * and would take time and memory by itself.
 */
const LACKING_BYTES_MAX = 4 * 1024 ** 3;

async function assertPossible(files: StoreFiles, tails: Tails): Promise<void> {
  for (const [name, length] of fileLengths(tails)) {
    if (length <= LACKING_BYTES_MAX) continue;
    const size = await files.size(name);
    if (length - size > LACKING_BYTES_MAX)
      throw corrupt(name, size, `the file should have ${length} bytes`);
  }
}

/** The slots of turns that are still open are the only gap that a frame leaves behind the tail of a file. */
const GAP_BYTES_MAX = 64 * 1024 ** 2;
/** A log has no tail, and may have been lost. */
const LOG_GAP_BYTES_MAX = 1024 ** 3;

/** False when a write would leave a gap that no file ever had. */
async function areWithin(
  files: StoreFiles,
  tails: Tails,
  writes: readonly JournalWrite[],
): Promise<boolean> {
  for (const write of writes) {
    if (write.kind !== 'bytes' || write.offset <= GAP_BYTES_MAX) continue;
    const tail = fileLengths(tails).get(write.path);
    const gap = write.offset - Math.max(await files.size(write.path), tail ?? 0);
    if (gap > (tail === undefined ? LOG_GAP_BYTES_MAX : GAP_BYTES_MAX)) return false;
  }
  return true;
}

/** The place where the frames after a checkpoint begin. */
export function startOf({ seq, body }: Checkpoint): JournalStart {
  return { ...body.journal, seq, synced: body.durability === 'safe' };
}

/** Bytes written directly to a pack were synced before the frame that names them. */
async function checkExtents(files: StoreFiles, writes: readonly JournalWrite[]): Promise<void> {
  for (const write of writes) {
    if (write.kind !== 'extent') continue;
    const size = await files.size(write.path);
    if (size < write.offset + write.length)
      throw corrupt(write.path, size, 'the pack lost its end');
  }
}

/** In a journal without syncs, files can be ahead of the frames that were kept. */
export async function cutToTails(
  files: StoreFiles,
  lengths: ReadonlyMap<string, number>,
): Promise<void> {
  for (const [name, length] of lengths) {
    if ((await files.size(name)) <= length) continue;
    const path = files.pathOf(name);
    const cut = (): Promise<void> =>
      withFile(files.io, path, 'write', async (file) => {
        await file.truncate(length);
        await file.sync();
      });
    await withCodes(path, cut);
  }
}
