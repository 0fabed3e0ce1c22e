import { storeClosed } from '../../../base/errors.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { Batch, Committed } from '../../batch.ts';
import type { BlobSource, BlobStored, Progress } from '../../engine.ts';
import type { IoFile, IoLock } from '../../io.ts';
import { BlobIntake, type Prepared } from '../packs/blob-intake.ts';
import { HeldBlobs } from '../packs/held-blobs.ts';
import { BulkPacks } from '../packs/bulk-packs.ts';
import { ChangeListeners } from '../../change-listeners.ts';
import type { Age } from '../collect/ages.ts';
import { Checkpointer } from '../journal/checkpointer.ts';
import { CheckpointTimer } from '../journal/checkpoint-timer.ts';
import { closeAll } from '../disk/close-all.ts';
import type { Checkpoint } from '../journal/checkpoint-file.ts';
import { Committer, type CommitTarget } from './committer.ts';
import type { Core } from '../core.ts';
import type { IndexKeeper } from '../index/index-keeper.ts';
import { ifRoom } from '../disk/io-error.ts';
import type { Journal } from '../journal/journal.ts';
import { Frames, type FrameOptions } from '../journal/frames.ts';
import type { Reserve } from './reserve.ts';
import { advanceTails } from './tails.ts';
import { Squeezer } from '../squeeze/squeezer.ts';
import { UpkeepLock } from '../owner/upkeep-lock.ts';
import type { Draft } from '../../plan/draft.ts';
import { encodeGroup } from './encode-group.ts';
import type { Planned } from '../../plan/planned.ts';

// All writes take one path: prepare (hash, compress, write large blobs), then a group plans, encodes one journal
// frame, makes it durable, applies it, and becomes visible. A commit that is alone is applied last.

export interface WriterParts {
  readonly core: Core;
  readonly journal: Journal;
  readonly mark: IoFile;
  readonly keeper: IndexKeeper;
  readonly checkpoint: Checkpoint;
  /** The number of the last frame: the checkpoint's, or the last one replayed. */
  readonly seq: number;
  readonly lock: IoLock;
  readonly clock: () => number;
  readonly durability: 'safe' | 'unsafe';
  /** The longest time between a commit and its checkpoint. Infinity: checkpoints depend on size alone. */
  readonly checkpointMs: number;
  readonly reserve: Reserve;
  /** Set when the opening could not be finished for lack of room. */
  readonly settle: (() => Promise<Checkpoint>) | undefined;
  readonly onSettled: () => Promise<void>;
}

export class Writer implements CommitTarget {
  readonly core: Core;
  readonly durability: 'safe' | 'unsafe';
  readonly bulk: BulkPacks;
  /** Blobs that unfinished puts rely on. */
  readonly held: HeldBlobs = new HeldBlobs();
  readonly listeners: ChangeListeners = new ChangeListeners();
  readonly #parts: WriterParts;
  readonly #committer: Committer;
  readonly #checkpointer: Checkpointer;
  readonly #timer: CheckpointTimer;
  readonly #intake: BlobIntake;
  readonly #squeezer: Squeezer = new Squeezer();
  readonly #upkeep: UpkeepLock = new UpkeepLock();
  readonly #frames: Frames;
  #closed = false;
  /** Commits with large blobs that are not decided yet. */
  #preparing = 0;

  constructor(parts: WriterParts) {
    const { core, journal, durability } = parts;
    this.core = core;
    this.durability = durability;
    this.#parts = parts;
    this.#committer = new Committer(this, this.#squeezer, parts.seq);
    const applied = () => ({ seq: this.seq, place: this.#frames.place, tails: core.tails });
    const { clock } = parts;
    const kept = { core, journal, durability, applied, clock };
    this.#checkpointer = new Checkpointer(kept, parts.checkpoint);
    const checkpointer = this.#checkpointer;
    this.#frames = new Frames({ ...parts, files: core.files, checkpointer });
    this.#timer = new CheckpointTimer(parts.checkpointMs, () => this.#checkpointer.run());
    const state = { tails: () => core.tails.packs, newPack: core.newPack };
    this.bulk = new BulkPacks(core.files, state, journal);
    const store = {
      hasBlob: core.hasLasting.bind(core),
      lease: async () => {
        await parts.reserve.fill();
        return this.bulk.lease();
      },
      underWay: () => this.#committer.underWay,
    };
    this.#intake = new BlobIntake(store, this.held, this.#squeezer);
  }

  get journalState(): { frames: number; broken: boolean } {
    return { frames: this.seq - this.#checkpointer.seq, broken: !!this.#parts.journal.broken };
  }

  /** The last frame that is visible. */
  get seq(): number {
    return this.#frames.seq;
  }

  /** Counts the starts and ends of groups that are becoming visible. The number is odd in between. */
  get moves(): number {
    return this.#frames.moves;
  }

  get isShortOfRoom(): boolean {
    return this.#parts.reserve.isShort;
  }

  /** Throws at once when the store accepts nothing any more. */
  commit(batch: Batch): Promise<Committed> {
    this.#assertAccepting();
    if (!this.#frames.isSettled) return this.#commitLate(batch);
    const prepared = this.#intake.prepareBatch(batch);
    return prepared instanceof Promise ? this.#submitLater(prepared) : this.submit(prepared);
  }

  /** Commits after finishing the opening, if there is room by now. A batch that makes room does not wait for that. */
  async #commitLate(batch: Batch): Promise<Committed> {
    await ifRoom(() => this.exclusively(() => this.#frames.settle()));
    await this.#frames.finished;
    return this.submit(await this.#intake.prepareBatch(batch));
  }

  async #submitLater(prepared: Promise<Prepared>): Promise<Committed> {
    this.#preparing += 1;
    try {
      return await this.submit(await prepared);
    } finally {
      this.#preparing -= 1;
    }
  }

  async putBlob(source: BlobSource): Promise<BlobStored> {
    this.#assertAccepting();
    const prepared = await this.#intake.prepareSource(source);
    const { hash, sha256 } = prepared;
    const existed = this.core.hasBlob(hash);
    if (this.#closed) await prepared.release();
    this.#assertAccepting();
    await this.submit(prepared);
    const stat = await this.core.blobs.stat(hash);
    if (stat === undefined) throw new Error(`blob ${hash} is gone right after it was stored`);
    return { ...stat, existed, ...(sha256 === undefined ? {} : { sha256 }) };
  }

  submit(prepared: Prepared): Promise<Committed> {
    return this.#committer.submit(prepared);
  }

  startDraft(): Draft {
    return this.core.startDraft(this.#parts.clock());
  }

  async store(draft: Draft, options: FrameOptions): Promise<number> {
    const { core } = this;
    await this.#frames.prepare(options.makesRoom);
    const group = encodeGroup(draft, core.tails, core.newPack, core);
    await this.#frames.store(group.writes, () => core.absorb(draft, group), options);
    return this.seq;
  }

  async finish(): Promise<void> {
    await this.core.files.catchUpIfPossible();
  }

  async endOfTurn(): Promise<void> {
    await this.core.files.io.endOfTurn?.();
  }

  /** Resolves when every commit sent so far is decided. */
  async settle(): Promise<void> {
    await this.#committer.settled();
  }

  /**
   * Upkeep changes files and no meaning. Its writes become durable in a frame of their own. Call this within
   * `exclusively`. The changes of `absorb` to memory and index become visible with the frame.
   */
  async storeWrites(writes: readonly JournalWrite[], absorb?: () => void): Promise<void> {
    await this.#frames.prepare(true);
    const take = (): void => {
      this.core.tails = writes.reduce(advanceTails, this.core.tails);
      absorb?.();
    };
    await this.#frames.store(writes, take, { makesRoom: true });
    this.#parts.keeper.rest(this.mendBetween);
  }

  /** Runs `work` between two groups. Commits sent meanwhile wait. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    // When the store is being closed, upkeep in progress ends at its next step.
    if (this.#closed) throw storeClosed();
    return this.#committer.exclusively(work);
  }

  /** Runs `work` as the only upkeep task. Throws LOCKED when another one is in progress. */
  async upkeep<T>(what: string, work: () => Promise<T>): Promise<T> {
    const done = this.takeUpkeep(what);
    try {
      return await work();
    } finally {
      done();
    }
  }

  takeUpkeep(what: string): () => void {
    this.#assertAccepting();
    return this.#upkeep.take(what);
  }

  announce(numbered: readonly { planned: Planned; seq: number }[]): void {
    if (this.listeners.some) {
      for (const { planned, seq } of numbered) {
        const change = planned.toChange(seq);
        if (change !== undefined) this.listeners.tell(change);
      }
    }
    this.#parts.keeper.rest(this.mendBetween);
    // A checkpoint per segment keeps the other segment free without making a commit wait.
    if (this.#frames.place.segment !== this.#checkpointer.place.segment) this.#timer.runNow();
    else this.#timer.start();
  }

  /** True when the index was the problem and has been rebuilt. For the committer, within a group. */
  readonly mend = (error: unknown): Promise<boolean> => this.#parts.keeper.mend(error);

  /** Like `mend`, for callers outside a commit group. */
  readonly mendBetween = (error: unknown): Promise<boolean> =>
    this.#parts.keeper.mendBetween(error, this);

  async checkpoint(): Promise<void> {
    await this.#committer.settled();
    await this.#frames.settle();
    await this.#checkpointer.run();
  }

  /** The ends of the packs at earlier times. */
  get ages(): readonly Age[] {
    return this.#checkpointer.ages;
  }

  get nowMs(): number {
    return this.#parts.clock();
  }

  /**
   * Overwrites every frame in the journal, after a checkpoint that makes the frames unnecessary. After a crash
   * between the two checkpoints, a note says that the overwriting is still to be done.
   */
  async scrubJournal(): Promise<void> {
    const scrub = async (): Promise<void> => {
      await this.#frames.settle();
      await this.#checkpointer.run({ scrub: true });
      await this.#parts.journal.scrub();
      await this.#checkpointer.run({ scrub: false });
    };
    await this.exclusively(() => this.#frames.withRoom(true, scrub));
  }

  async reindex(progress?: Progress): Promise<void> {
    await this.exclusively(() => this.#parts.keeper.reindex(progress));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer.stop();
    await this.#upkeep.idle();
    // Large blobs take a while to be written before their batch joins the queue.
    while (this.#preparing > 0) await new Promise((resolve) => setImmediate(resolve));
    await this.#committer.drain();
    const { journal, keeper, mark, lock } = this.#parts;
    const finish = async (): Promise<void> => {
      // A store that could not sync, or has no room, keeps its journal. The next opening replays it.
      if (journal.broken !== undefined) return;
      await this.#frames.settle();
      if (this.#checkpointer.clean) return;
      this.#frames.rewind();
      await this.#checkpointer.run({ clean: true });
      await journal.trim();
    };
    const handles = [this.#squeezer, keeper, mark, journal, this.core.files].map(
      (held) => () => held.close(),
    );
    await closeAll([() => ifRoom(finish), ...handles, () => lock.release()]);
  }

  #assertAccepting(): void {
    if (this.#closed) throw storeClosed();
    if (this.#parts.journal.broken !== undefined) throw this.#parts.journal.broken;
  }
}
