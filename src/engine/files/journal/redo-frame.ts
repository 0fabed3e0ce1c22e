import {
  encodedWriteLength,
  encodeFrame,
  FRAME_ALIGN_BYTES,
  type JournalWrite,
} from '../../../format/journal-frame.ts';
import { writeNew } from '../disk/file-handles.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { type JournalPlace, SEGMENTS } from './journal.ts';

// The changes that a backup makes to files already in use, as one frame in the journal of the copy. A checkpoint
// that points at the frame makes all of them true at once.
//
// The frame is at a place that the copy, in its state before, does not read. That state was closed cleanly and
// continues at the start of the first segment, and a reader that changes segments begins at 0. So a frame left by
// an interrupted run means nothing, even if the copy is written to in between.

export const REDO_PLACE: JournalPlace = { segment: 1, position: FRAME_ALIGN_BYTES };
const REDO_FILE = SEGMENTS[REDO_PLACE.segment];

/** The limit of a frame. Writing it takes twice as much memory. */
const REDO_BYTES_MAX = 256 * 1024 * 1024;

/** Thrown when more must be changed in place than one frame should hold. */
export class RedoFull extends Error {
  constructor() {
    super('the frame is full');
    this.name = 'RedoFull';
  }
}

export class RedoFrame {
  readonly #files: StoreFiles;
  readonly #limit: number;
  readonly #writes: JournalWrite[] = [];
  #bytes = 0;

  constructor(files: StoreFiles, limit: number = REDO_BYTES_MAX) {
    this.#files = files;
    this.#limit = limit;
  }

  get empty(): boolean {
    return this.#writes.length === 0;
  }

  async append(write: JournalWrite): Promise<void> {
    this.#bytes += encodedWriteLength(write);
    if (this.#bytes > this.#limit) throw new RedoFull();
    // The data may be a small part of what was read with it.
    this.#writes.push('data' in write ? { ...write, data: Buffer.from(write.data) } : write);
  }

  /** The frame is whole and durable when this resolves. It replaces what an earlier run left. */
  async finish(seq: number): Promise<void> {
    const bytes = encodeFrame(seq, this.#writes, this.#files.frameSalt);
    const path = this.#files.pathOf(REDO_FILE);
    await writeNew(this.#files.io, path, bytes, REDO_PLACE.position);
  }
}
