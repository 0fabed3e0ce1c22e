import { crc32 } from '../../../format/bytes.ts';
import {
  encodedWriteLength,
  encodeFrame,
  encodeJournalWrite,
  FRAME_ALIGN_BYTES,
  FRAME_HEADER_BYTES,
  type JournalWrite,
  sealFrameHeader,
} from '../../../format/journal-frame.ts';
import type { IoFile } from '../../io.ts';
import { syncFile, writeFully } from '../disk/file-handles.ts';
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

/** The limit of a frame: a replay holds the frame in memory. */
const REDO_BYTES_MAX = 256 * 1024 * 1024;
const BUFFER_BYTES = 1024 * 1024;

/** Thrown when more must be changed in place than one frame should hold. */
export class RedoFull extends Error {
  constructor() {
    super('the frame is full');
    this.name = 'RedoFull';
  }
}

export class RedoFrame {
  readonly #file: IoFile;
  readonly #limit: number;
  readonly #salt: number;
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  #bodyBytes = 0;
  #count = 0;
  #crc = 0;

  private constructor(file: IoFile, limit: number, salt: number) {
    this.#file = file;
    this.#salt = salt;
    this.#limit = limit;
  }

  /** Discards what an earlier run left. */
  static async create(files: StoreFiles, limit: number = REDO_BYTES_MAX): Promise<RedoFrame> {
    const file = await files.io.open(files.pathOf(REDO_FILE), 'create');
    await file.truncate(0);
    return new RedoFrame(file, limit, files.frameSalt);
  }

  get empty(): boolean {
    return this.#count === 0;
  }

  async append(write: JournalWrite): Promise<void> {
    const length = encodedWriteLength(write);
    if (this.#bodyBytes + length > this.#limit) throw new RedoFull();
    const encoded = Buffer.allocUnsafe(length);
    encodeJournalWrite(write, encoded, 0);
    this.#crc = crc32(encoded, this.#crc);
    this.#buffered.push(encoded);
    this.#bufferedBytes += length;
    this.#bodyBytes += length;
    this.#count += 1;
    if (this.#bufferedBytes >= BUFFER_BYTES) await this.#flush();
  }

  /** The frame is whole and durable when this resolves. */
  async finish(seq: number): Promise<void> {
    const { position } = REDO_PLACE;
    const end = FRAME_HEADER_BYTES + this.#bodyBytes;
    const padding = Math.ceil(end / FRAME_ALIGN_BYTES) * FRAME_ALIGN_BYTES - end;
    await this.#flush();
    if (padding > 0) await writeFully(this.#file, new Uint8Array(padding), position + end);
    const header = encodeFrameHeader(
      seq,
      {
        bodyLength: this.#bodyBytes,
        writeCount: this.#count,
        bodyCrc: this.#crc,
      },
      this.#salt,
    );
    await writeFully(this.#file, header, position);
    await syncFile(this.#file);
  }

  /** Frees the room once the frame is not needed. */
  async clear(): Promise<void> {
    await this.#file.truncate(0);
    await syncFile(this.#file);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    if (this.#bufferedBytes === 0) return;
    const bytes = Buffer.concat(this.#buffered);
    const at = REDO_PLACE.position + FRAME_HEADER_BYTES + this.#bodyBytes - bytes.length;
    this.#buffered = [];
    this.#bufferedBytes = 0;
    await writeFully(this.#file, bytes, at);
  }
}

/** The header of a frame whose body was written piece by piece. */
function encodeFrameHeader(
  seq: number,
  body: { bodyLength: number; writeCount: number; bodyCrc: number },
  salt: number,
): Uint8Array {
  const header = Buffer.from(encodeFrame(seq, []).subarray(0, FRAME_HEADER_BYTES));
  header.writeUInt32LE(body.bodyLength, 16);
  header.writeUInt32LE(body.writeCount, 20);
  header.writeUInt32LE(body.bodyCrc, 24);
  sealFrameHeader(header, salt);
  return header;
}
