import { isQuipuError } from '../../../base/errors.ts';
import { encodeFrame, type JournalWrite } from '../../../format/journal-frame.ts';
import type { IoFile } from '../../io.ts';
import type { Checkpoint } from './checkpoint-file.ts';
import type { Checkpointer } from './checkpointer.ts';
import type { Journal, JournalPlace } from './journal.ts';
import { leaveMark } from './leave-mark.ts';
import type { Reserve } from '../commit/reserve.ts';
import type { StoreFiles } from '../disk/store-files.ts';

// Makes frames durable and visible, one at a time.
// Invariants
// - Nothing is stored while writes of an earlier frame wait for room, nor while the store is not settled. A store
//   is not settled when its opening found no room to make replayed data durable. Such a store can be read and keeps
//   its journal.
// - A frame that takes room needs the reserve to exist. A frame that makes room may release it.

export interface FramesParts {
  readonly files: StoreFiles;
  readonly journal: Journal;
  readonly mark: IoFile;
  readonly checkpointer: Checkpointer;
  readonly reserve: Reserve;
  /** The last frame there is. */
  readonly seq: number;
  /** Finishes an opening that could not be finished. This must be done before anything is stored. */
  readonly settle: (() => Promise<Checkpoint>) | undefined;
  /** The last step of an opening. It begins once `settle` is done. */
  readonly onSettled: () => Promise<void>;
}

export interface FrameOptions {
  /** True when the frame frees more room than it takes. */
  readonly makesRoom: boolean;
  /** True when no other commit is waiting. */
  readonly alone?: boolean;
  /** Called once the disk is working on the frame. */
  readonly waiting?: () => void;
}

export class Frames {
  /** Counts the starts and ends of frames that are becoming visible. The number is odd in between. */
  moves = 0;
  readonly #parts: FramesParts;
  #settle: (() => Promise<Checkpoint>) | undefined;
  #finished: Promise<void> = Promise.resolve();
  #seq: number;
  #place: JournalPlace;

  constructor(parts: FramesParts) {
    this.#parts = parts;
    this.#seq = parts.seq;
    this.#place = parts.journal.place;
    this.#settle = parts.settle;
  }

  /** The last visible frame. */
  get seq(): number {
    return this.#seq;
  }

  /** The place where the journal continues after that frame. */
  get place(): JournalPlace {
    return this.#place;
  }

  get isSettled(): boolean {
    return this.#settle === undefined;
  }

  /** Resolves when an unfinished opening is finished, as far as there is room for it. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  /** Call this before a frame is encoded: from here on, the files are as the last frame left them. */
  async prepare(makesRoom: boolean): Promise<void> {
    const { journal, reserve, files, checkpointer } = this.#parts;
    if (journal.broken !== undefined) throw journal.broken;
    if (!makesRoom && !reserve.isThere) await reserve.fill();
    await this.withRoom(makesRoom, async () => {
      await this.settle();
      await files.catchUp();
      await checkpointer.begin();
    });
  }

  async store(
    writes: readonly JournalWrite[],
    absorb: () => void,
    { makesRoom, alone = false, waiting }: FrameOptions,
  ): Promise<void> {
    const { journal, files, mark, checkpointer } = this.#parts;
    const seq = this.#seq + 1;
    const frame = encodeFrame(seq, writes, files.frameSalt);
    if (journal.mustCheckpoint(frame.length, checkpointer.seq)) {
      await this.withRoom(makesRoom, () => checkpointer.run());
    }
    this.moves += 1;
    try {
      const appended = this.withRoom(makesRoom, () => journal.append(seq, frame, alone));
      waiting?.();
      await appended;
      await files.apply(writes, alone);
      await leaveMark(mark, seq);
      this.#seq = seq;
      this.#place = journal.place;
      absorb();
    } finally {
      this.moves += 1;
    }
  }

  /** Call this once nothing is written any more: the journal starts over, and the next opening does not need it. */
  rewind(): void {
    this.#parts.journal.rewind();
    this.#place = this.#parts.journal.place;
  }

  /** Throws DISK_FULL while there is still no room. */
  async settle(): Promise<void> {
    if (this.#settle === undefined) return;
    const { checkpointer, onSettled } = this.#parts;
    checkpointer.goOnFrom(await this.#settle());
    this.#settle = undefined;
    this.rewind();
    this.#finished = onSettled().catch(() => undefined);
  }

  /** Repeats `work` with the room of the reserve, if the work lacks room and may use the reserve. */
  withRoom<T>(makesRoom: boolean, work: () => Promise<T>): Promise<T> {
    return makesRoom ? this.#tryTwice(work) : work();
  }

  async #tryTwice<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isQuipuError(error, 'DISK_FULL') || !(await this.#parts.reserve.release())) throw error;
      return work();
    }
  }
}
