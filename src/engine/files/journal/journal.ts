import {
  FRAME_HEADER_BYTES,
  decodeFrameHeader,
  encodeMark,
} from '../../../format/journal-frame.ts';
import type { IoFile } from '../../io.ts';
import { closeAll, shortWrite, writeFully } from '../disk/file-handles.ts';
import { toQuipuError, unknownOutcome } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';

export const JOURNAL_FOLDER = 'journal';

// The redo journal makes a group of commits durable.
// Invariants
// - `append` resolves only after a completed sync that covers the whole frame.
// - Frames are numbered without gaps, and the next one is written only after the one before it is
//   durable. So only the last frame can be torn, and a bad frame with a good one after it is damage.
// - Frames start on 4 KiB boundaries: a write never touches a page that holds acknowledged bytes.
// - After a failed sync nothing more is written: the kernel may have dropped the pages, whatever a
//   second sync says.
// - A segment is written again from its start only when a checkpoint covers all its frames.
// Only the owner of the store holds a journal.

export const SEGMENTS = ['journal/a.wal', 'journal/b.wal'] as const;

const SCRUB_BYTES = 1024 * 1024;
/**
 * On a disk that syncs within this time, the engine's own thread syncs a commit that is alone: 0.2 ms instead of
 * the 0.43 ms with a trip to another thread and back. On a slower disk that would keep everything else in this
 * process waiting.
 */
const QUICK_SYNC_MS = 1;

export interface JournalOptions {
  /** At this size the journal changes to the other segment. */
  readonly segmentBytes: number;
  /** Zeros are written ahead in steps of this size, so that most syncs do not change the file length. */
  readonly growBytes: number;
  /** False: commits are acknowledged without waiting for the disk. */
  readonly sync: boolean;
}

export interface JournalPlace {
  readonly segment: 0 | 1;
  readonly position: number;
}

export class Journal {
  readonly #files: StoreFiles;
  readonly #options: JournalOptions;
  readonly #segments: readonly [IoFile, IoFile];
  readonly #lengths: [number, number];
  readonly #lastSeq: [number, number] = [0, 0];
  #segment: 0 | 1;
  #position: number;
  /** The duration of the last sync, as this thread saw it. */
  #syncMs = Infinity;
  #broken: Error | undefined;

  private constructor(
    files: StoreFiles,
    options: JournalOptions,
    opened: { segments: readonly [IoFile, IoFile]; lengths: [number, number]; place: JournalPlace },
  ) {
    this.#files = files;
    this.#options = options;
    this.#segments = opened.segments;
    this.#lengths = opened.lengths;
    this.#segment = opened.place.segment;
    this.#position = opened.place.position;
  }

  /** Continues writing at `place`. A checkpoint covers every frame written so far. */
  static async open(
    files: StoreFiles,
    options: JournalOptions,
    place: JournalPlace,
  ): Promise<Journal> {
    const opened: IoFile[] = [];
    const open = async (name: string): Promise<IoFile> => {
      const file = await files.io.open(files.pathOf(name), 'write');
      opened.push(file);
      return file;
    };
    try {
      const segments = [await open(SEGMENTS[0]), await open(SEGMENTS[1])] as const;
      const lengths: [number, number] = [await segments[0].size(), await segments[1].size()];
      return new Journal(files, options, { segments, lengths, place });
    } catch (error) {
      await closeAll(opened.map((file) => () => file.close())).catch(() => undefined);
      throw error;
    }
  }

  /** The place of the next frame, if it fits. */
  get place(): JournalPlace {
    return { segment: this.#segment, position: this.#position };
  }

  /** Set once a sync has failed: nothing may be acknowledged any more. */
  get broken(): Error | undefined {
    return this.#broken;
  }

  /** True when the next frame needs the other segment and `checkpointed` does not cover it yet. */
  mustCheckpoint(frameBytes: number, checkpointed: number): boolean {
    return this.#mustSwitch(frameBytes) && this.#lastSeq[other(this.#segment)] > checkpointed;
  }

  /**
   * Writes an encoded frame and makes it durable. When this throws, the frame does not count. `alone`: this thread
   * has nothing else to do until then.
   */
  async append(seq: number, frame: Uint8Array, alone = false): Promise<void> {
    const path = this.#files.pathOf(SEGMENTS[this.#segment]);
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#mustSwitch(frame.length)) {
      this.#segment = other(this.#segment);
      this.#position = 0;
    }
    const file = this.#segments[this.#segment];
    try {
      await this.#grow(file, this.#position + frame.length);
    } catch (error) {
      throw toQuipuError(error, path);
    }
    await this.#write(file, path, frame);
    if (this.#options.sync) await this.#sync(file, path, alone);
    this.#position += frame.length;
    this.#lastSeq[this.#segment] = seq;
  }

  /** Stops all acknowledgements from now on, for example after a failed sync of a data file. */
  breakDown(error: unknown, path: string): void {
    this.#broken ??= unknownOutcome(error, path);
  }

  /** Overwrites all frames with zeros. A checkpoint must cover all of them. */
  async scrub(): Promise<void> {
    for (const [index, file] of this.#segments.entries()) {
      const path = this.#files.pathOf(SEGMENTS[index === 0 ? 0 : 1]);
      const length = this.#lengths[index === 0 ? 0 : 1];
      try {
        for (let at = 0; at < length; at += SCRUB_BYTES) {
          await writeFully(file, new Uint8Array(Math.min(SCRUB_BYTES, length - at)), at);
        }
      } catch (error) {
        throw toQuipuError(error, path);
      }
      await this.#sync(file, path);
    }
  }

  /** Starts over at the beginning. A checkpoint must cover every frame, and no frame is written after it. */
  rewind(): void {
    this.#segment = 0;
    this.#position = 0;
  }

  /** Frees the room of frames that are not needed any more, except for what the next opening needs first. */
  async trim(): Promise<void> {
    for (const [index, file] of this.#segments.entries()) {
      if (this.#lengths[index === 0 ? 0 : 1] <= this.#options.growBytes) continue;
      // A segment that stays long only costs room.
      await file.truncate(this.#options.growBytes).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    await closeAll(this.#segments.map((file) => () => file.close()));
  }

  /** A frame without its end does not count. A frame that lacks only padding is whole. */
  async #write(file: IoFile, path: string, frame: Uint8Array): Promise<void> {
    let written: number;
    try {
      written = await file.write(frame, this.#position);
    } catch (error) {
      // The amount that the disk took is unknown: perhaps the whole frame.
      if ((error as NodeJS.ErrnoException).code !== 'EIO') throw toQuipuError(error, path);
      this.#broken = unknownOutcome(error, path);
      throw this.#broken;
    }
    const whole =
      FRAME_HEADER_BYTES +
      (decodeFrameHeader(frame, this.#files.frameSalt)?.bodyLength ?? Infinity);
    if (written < whole) throw toQuipuError(shortWrite(written, frame.length), path);
  }

  async #sync(file: IoFile, path: string, alone = false): Promise<void> {
    const start = performance.now();
    try {
      await file.sync(alone && this.#syncMs < QUICK_SYNC_MS);
      this.#syncMs = performance.now() - start;
    } catch (error) {
      this.#broken = unknownOutcome(error, path);
      throw this.#broken;
    }
  }

  #mustSwitch(frameBytes: number): boolean {
    return this.#position > 0 && this.#position + frameBytes > this.#options.segmentBytes;
  }

  async #grow(file: IoFile, needed: number): Promise<void> {
    const length = this.#lengths[this.#segment];
    if (needed <= length) return;
    const step = Math.min(this.#options.growBytes, this.#options.segmentBytes - length);
    const grow = async (to: number): Promise<void> => {
      await writeFully(file, new Uint8Array(to - length), length);
      this.#lengths[this.#segment] = to;
    };
    const ahead = Math.max(length + step, needed);
    try {
      await grow(ahead);
    } catch (error) {
      // On a nearly full disk, the room for this frame alone is enough.
      if (ahead === needed) throw error;
      await grow(needed);
    }
  }
}

/**
 * Leaves a mark that frame `seq` was acknowledged. The mark is not synced: after a power cut it can only say too
 * little, never too much.
 */
export async function leaveMark(mark: IoFile, seq: number): Promise<void> {
  try {
    await mark.write(encodeMark(seq), 0);
  } catch {
    // Without the mark, a damaged last frame is taken for a torn one. The commit itself is safe.
  }
}

function other(segment: 0 | 1): 0 | 1 {
  return segment === 0 ? 1 : 0;
}
