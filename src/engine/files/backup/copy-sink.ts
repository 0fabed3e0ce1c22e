import {
  encodedWriteLength,
  encodeFrame,
  FRAME_ALIGN_BYTES,
  type JournalWrite,
} from '../../../format/journal-frame.ts';
import { writeNew } from '../disk/file-handles.ts';
import { type StoreFiles, UNSYNCED_BYTES_MAX } from '../disk/store-files.ts';
import { type JournalPlace, SEGMENTS } from '../journal/journal.ts';

// The folder that bytes are copied to. A folder in use shows a state, and data of that state changes through one frame
// in the journal of the copy. A checkpoint that points at the frame makes all changes true at once. Data beyond the
// lengths of that state is written directly to its place. A folder that is not in use shows nothing: it cannot be
// opened, and everything is written directly.
//
// The frame is at a place that the copy, in its state before, does not read. That state was closed cleanly and
// continues at the start of the first segment, and a reader that changes segments begins at 0. So a frame left by
// an interrupted run means nothing, even if the copy is written to in between.

export const REDO_PLACE: JournalPlace = { segment: 1, position: FRAME_ALIGN_BYTES };

/** The limit of a frame. Writing it takes twice as much memory. */
const REDO_BYTES_MAX = 256 * 1024 * 1024;

/** Files that were written and not synced stay open. A copy with many files must not run out of file handles. */
const UNSYNCED_FILES_MAX = 64;

/** Changes are found in steps of one head. */
const STEP_BYTES = 64;

/** Small pieces are written together. */
const PIECE_BYTES = 1024 * 1024;

/** Thrown when more must be changed in place than one frame should hold. */
export class RedoFull extends Error {}

/** The length of a file that counts now. A file without an entry counts as a whole. */
export type Visible = Pick<ReadonlyMap<string, number>, 'get'>;

/** Nothing in a folder that is not in use counts. */
const NOT_IN_USE: Visible = { get: () => 0 };

export class CopySink {
  readonly files: StoreFiles;
  readonly touched: Set<string> = new Set();
  copiedBytes = 0;
  readonly #visible: Visible;
  readonly #redoBytesMax: number;
  readonly #redo: JournalWrite[] = [];
  /** Files that the frame, or a noted one, removes or writes anew: their bytes are not compared. */
  readonly #rewritten = new Set<string>();
  readonly #unsynced = new Set<string>();
  #redoBytes = 0;
  #unsyncedBytes = 0;

  constructor(files: StoreFiles, visible: Visible = NOT_IN_USE, limit: number = REDO_BYTES_MAX) {
    this.files = files;
    this.#visible = visible;
    this.#redoBytesMax = limit;
  }

  /** The bytes that the folder shows at a place. None where they cannot be compared. */
  async #shown(path: string, offset: number, length: number): Promise<Buffer> {
    const shown = this.#rewritten.has(path) ? 0 : Math.min(length, this.#visibleFrom(path, offset));
    return this.files.read(path, offset, shown);
  }

  #visibleFrom(path: string, offset: number): number {
    return Math.max(0, (this.#visible.get(path) ?? Infinity) - offset);
  }

  async shows(path: string, offset: number, data: Uint8Array): Promise<boolean> {
    return (await this.#shown(path, offset, data.length)).equals(data);
  }

  async put(path: string, offset: number, data: Uint8Array): Promise<void> {
    const shown = await this.#shown(path, offset, data.length);
    for (const [start, end] of differences(shown, data)) {
      const part = data.subarray(start, end);
      await this.#take({ kind: 'bytes', path, offset: offset + start, data: part });
    }
  }

  async replace(path: string, data: Uint8Array): Promise<void> {
    if ((await this.#shown(path, 0, data.length + 1)).equals(data)) return;
    await this.takeNoted({ kind: 'whole', path, data });
  }

  async remove(path: string): Promise<void> {
    if (!this.#rewritten.has(path) && (await this.files.size(path)) === 0) return;
    await this.takeNoted({ kind: 'remove', path });
  }

  async stream(path: string, offset: number, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    let at = offset;
    let gathered: Uint8Array[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (bytes > 0) await this.put(path, at, Buffer.concat(gathered));
      at += bytes;
      gathered = [];
      bytes = 0;
    };
    for await (const piece of pieces) {
      gathered.push(piece);
      bytes += piece.length;
      if (bytes >= PIECE_BYTES) await flush();
    }
    await flush();
  }

  async create(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    if (this.#visible.get(path) === 0) {
      await this.files.replace(path, pieces);
      this.touched.add(path);
      this.copiedBytes += await this.files.size(path);
      return;
    }
    const gathered: Uint8Array[] = [];
    for await (const piece of pieces) gathered.push(piece);
    await this.replace(path, Buffer.concat(gathered));
  }

  /** Takes a write of a frame. From now on, the file is not what the folder shows. */
  async takeNoted(write: JournalWrite): Promise<void> {
    this.#rewritten.add(write.path);
    await this.#take(write);
  }

  async #take(write: JournalWrite): Promise<void> {
    const { path } = write;
    this.touched.add(path);
    if ('data' in write) this.copiedBytes += write.data.length;
    const shown = this.#visibleFrom(path, write.kind === 'bytes' ? write.offset : 0);
    if (shown === 0) return this.#direct(write);
    if (write.kind === 'bytes' && shown < write.data.length) {
      const { offset, data } = write;
      this.#change({ ...write, data: data.subarray(0, shown) });
      await this.#direct({ ...write, offset: offset + shown, data: data.subarray(shown) });
    } else this.#change(write);
    if (this.#redoBytes > this.#redoBytesMax) throw new RedoFull();
  }

  /** Replaces a note about the copy. A note is never torn: it tells whether the folder is a backup. */
  async note(path: string, data: Uint8Array): Promise<void> {
    this.touched.add(path);
    if (this.#visible.get(path) === 0) await this.files.replace(path, [data]);
    else this.#change({ kind: 'whole', path, data });
  }

  #change(write: JournalWrite): void {
    this.#redoBytes += encodedWriteLength(write);
    // The data may be a small part of what was read with it.
    this.#redo.push('data' in write ? { ...write, data: Buffer.from(write.data) } : write);
  }

  async #direct(write: JournalWrite): Promise<void> {
    await this.files.apply([write]);
    await this.files.catchUp();
    this.#unsynced.add(write.path);
    this.#unsyncedBytes += 'data' in write ? write.data.length : 0;
    const many = this.#unsynced.size >= UNSYNCED_FILES_MAX;
    if (many || this.#unsyncedBytes >= UNSYNCED_BYTES_MAX) await this.sync();
  }

  /** All data written directly is durable when this resolves. */
  async sync(): Promise<void> {
    await this.files.syncAll();
    this.#unsynced.clear();
    this.#unsyncedBytes = 0;
  }

  /** The frame is whole and durable when this resolves. It replaces what an earlier run left. */
  async writeFrame(seq: number): Promise<void> {
    const bytes = encodeFrame(seq, this.#redo, this.files.frameSalt);
    const path = this.files.pathOf(SEGMENTS[REDO_PLACE.segment]);
    await writeNew(this.files.io, path, bytes, REDO_PLACE.position);
  }

  /** Does what the frame says. Call this once a checkpoint points at it. */
  async carryOut(): Promise<void> {
    await this.files.apply(this.#redo);
    await this.files.catchUp();
  }
}

/** The ranges of `data` that differ from the bytes that are there, or are beyond them. */
function differences(theirs: Buffer, data: Uint8Array): (readonly [number, number])[] {
  if (theirs.length === 0) return [[0, data.length]];
  const runs: [number, number][] = [];
  for (let at = 0; at < data.length; at += STEP_BYTES) {
    const end = Math.min(at + STEP_BYTES, data.length);
    if (theirs.subarray(at, end).equals(data.subarray(at, end))) continue;
    const last = runs.at(-1);
    if (last?.[1] === at) last[1] = end;
    else runs.push([at, end]);
  }
  return runs;
}
