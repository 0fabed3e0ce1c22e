import {
  decodeFrameBody,
  decodeFrameHeader,
  decodeMark,
  FRAME_ALIGN_BYTES,
  FRAME_HEADER_BYTES,
  type JournalWrite,
  MARK_BYTES,
} from '../../../format/journal-frame.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { writeAndSync } from '../disk/file-handles.ts';
import { type JournalPlace, SEGMENTS } from './journal.ts';

// Reads the journal back after a crash. A missing or torn frame ends the journal. That is right only if it was the
// last frame written. When anything shows that a later frame was durable once (a frame with a higher number, or the
// mark of an acknowledged one), the bad frame is damage. Then the store reports it instead of cutting history
// short.

export const MARK_FILE = 'journal/mark';

export interface JournalStart extends JournalPlace {
  /** The last frame that the checkpoint covers. */
  readonly seq: number;
  /** False when the journal was written without syncs: then any frame may be missing. */
  readonly synced: boolean;
}

/** The place of a frame, and its length without padding. */
export interface FramePlace extends JournalPlace {
  readonly bytes: number;
}

type OnFrame = (seq: number, writes: readonly JournalWrite[], at: FramePlace) => Promise<void>;

/** Calls back for every durable frame after `start`, in order. Returns the last number in use. */
export async function readJournal(
  files: StoreFiles,
  start: JournalStart,
  onFrame: OnFrame,
): Promise<number> {
  let place: JournalPlace = start;
  let last = start.seq;
  for (;;) {
    const frame =
      (await readFrame(files, place, last + 1)) ??
      (await readFrame(files, firstOfOther(place), last + 1));
    if (frame === undefined) break;
    await onFrame(last + 1, frame.writes, frame.at);
    last += 1;
    place = frame.next;
  }
  // The frame after the last may have left its header when it was torn. Nothing beyond it may exist.
  const highest = await highestSeq(files);
  const marked = await markedSeq(files);
  if (highest <= last + 1 && marked <= last) return last;
  if (!start.synced) return Math.max(highest, marked);
  throw corrupt(
    SEGMENTS[place.segment],
    place.position,
    `frame ${last + 1} is damaged or gone, but frame ${Math.max(highest, marked)} was durable once`,
  );
}

/**
 * Makes the last frame durable before anything is built on it. A process that died, or whose sync failed, leaves
 * bytes that reads see and the disk does not have. A sync alone may find nothing to write, so the bytes are written
 * once more. Every frame before it was durable when it was written.
 */
export async function secureLastFrame(files: StoreFiles, start: JournalStart): Promise<void> {
  let last: FramePlace | undefined;
  await readJournal(files, start, async (_seq, _writes, at) => {
    last = at;
  });
  if (last === undefined) return;
  const name = SEGMENTS[last.segment];
  const bytes = await files.read(name, last.position, last.bytes);
  await writeAndSync(files.io, files.pathOf(name), { bytes, position: last.position });
}

interface FoundFrame {
  readonly writes: readonly JournalWrite[];
  readonly at: FramePlace;
  readonly next: JournalPlace;
}

async function readFrame(
  files: StoreFiles,
  place: JournalPlace,
  seq: number,
): Promise<FoundFrame | undefined> {
  const name = SEGMENTS[place.segment];
  const bytes = await files.read(name, place.position, FRAME_HEADER_BYTES);
  const header = decodeFrameHeader(bytes, files.frameSalt);
  if (header === undefined || header.seq !== seq) return undefined;
  const bodyAt = place.position + FRAME_HEADER_BYTES;
  if (bodyAt + header.bodyLength > (await files.size(name))) return undefined;
  const body = await files.read(name, bodyAt, header.bodyLength);
  const writes = decodeFrameBody(header, body);
  if (writes === undefined) return undefined;
  const end = bodyAt + header.bodyLength;
  const position = Math.ceil(end / FRAME_ALIGN_BYTES) * FRAME_ALIGN_BYTES;
  const at = { ...place, bytes: end - place.position };
  return { writes, at, next: { segment: place.segment, position } };
}

/**
 * The highest number in any intact frame header. A header alone is proof: a frame is written only when the one
 * before it is durable.
 */
async function highestSeq(files: StoreFiles): Promise<number> {
  const stepBytes = 64 * FRAME_ALIGN_BYTES;
  let highest = 0;
  for (const name of SEGMENTS) {
    const size = await files.size(name);
    for (let at = 0; at < size; at += stepBytes) {
      const bytes = await files.read(name, at, Math.min(stepBytes, size - at));
      for (let offset = 0; offset < bytes.length; offset += FRAME_ALIGN_BYTES) {
        const start = bytes.subarray(offset, offset + FRAME_HEADER_BYTES);
        const header = decodeFrameHeader(start, files.frameSalt);
        if (header !== undefined && header.seq > highest) highest = header.seq;
      }
    }
  }
  return highest;
}

/** The last frame known to be acknowledged; 0 when the mark is missing or unreadable. */
export async function markedSeq(files: StoreFiles): Promise<number> {
  return decodeMark(await files.read(MARK_FILE, 0, MARK_BYTES)) ?? 0;
}

function firstOfOther(place: JournalPlace): JournalPlace {
  return { segment: place.segment === 0 ? 1 : 0, position: 0 };
}
