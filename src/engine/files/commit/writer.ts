import { storeClosed, locked } from '../../../base/errors.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { Batch, BlobPut, Committed } from '../../batch.ts';
import type { BlobSource, BlobStored, Progress } from '../../engine.ts';
import type { IoLock } from '../../io.ts';
import { ChangeListeners } from '../../plan/report.ts';
import type { Core } from '../core/core.ts';
import { advanceTails } from '../core/truths.ts';
import { closeAll } from '../disk/file-handles.ts';
import { ifRoom } from '../disk/io-error.ts';
import { type Age, type Checkpoint, Checkpointer } from '../journal/checkpoint-file.ts';
import { BlobIntake, HeldBlobs, type Prepared } from '../packs/blob-intake.ts';
import { BulkPacks } from '../packs/bulk-packs.ts';
import { Compressor } from '../compress/compressor.ts';
import { Pipeline, type PipelineParts } from './pipeline.ts';

// The one door to everything that changes a store: commits, puts of blobs, and upkeep. A commit is prepared here and
// then takes its way through `Pipeline`.

/** The writer makes the other parts of its pipeline itself. */
export interface WriterParts extends Omit<
  PipelineParts,
  'checkpointer' | 'compressor' | 'listeners' | 'prepare'
> {
  readonly checkpoint: Checkpoint;
  readonly lock: IoLock;
  readonly durability: 'safe' | 'unsafe';
  /** The longest time between a commit and its checkpoint. Infinity: checkpoints depend on size alone. */
  readonly checkpointMs: number;
}

export class Writer {
  readonly core: Core;
  readonly durability: 'safe' | 'unsafe';
  readonly bulk: BulkPacks;
  /** Blobs that unfinished puts rely on. */
  readonly held: HeldBlobs = new HeldBlobs();
  readonly listeners: ChangeListeners = new ChangeListeners();
  readonly #parts: WriterParts;
  readonly #pipeline: Pipeline;
  readonly #checkpointer: Checkpointer;
  readonly #intake: BlobIntake;
  readonly #compressor: Compressor = new Compressor();
  /** Only one upkeep task runs at a time: a backup must not see packs go, a check must not see a half-swept store. */
  #upkeep: { readonly what: string; readonly ended: Promise<void> } | undefined;
  /** Commits with large blobs that are not decided yet. */
  #preparing = 0;

  constructor(parts: WriterParts) {
    const { core, journal, durability } = parts;
    this.core = core;
    this.durability = durability;
    this.#parts = parts;
    this.#checkpointer = new Checkpointer(parts, parts.checkpoint);
    const { listeners } = this;
    const [checkpointer, compressor] = [this.#checkpointer, this.#compressor];
    const prepare = (blob: BlobPut): Promise<Prepared> => this.#intake.prepareAlone(blob);
    this.#pipeline = new Pipeline({ ...parts, checkpointer, compressor, listeners, prepare });
    this.bulk = new BulkPacks(core, journal);
    const store = {
      hasBlob: core.hasLasting.bind(core),
      lease: async () => {
        await parts.reserve.fill();
        return this.bulk.lease();
      },
      underWay: () => this.#pipeline.underWay,
    };
    this.#intake = new BlobIntake(store, this.held, this.#compressor);
  }

  get journalState(): { frames: number; broken: boolean } {
    return { frames: this.seq - this.#checkpointer.seq, broken: !!this.#parts.journal.broken };
  }

  /** The last frame that is visible. */
  get seq(): number {
    return this.core.seq;
  }

  /** Counts the starts and ends of groups that are becoming visible. The number is odd in between. */
  get moves(): number {
    return this.#pipeline.moves;
  }

  /** Throws at once when the store accepts nothing any more. */
  commit(batch: Batch): Promise<Committed> {
    this.#assertAccepting();
    if (!this.#pipeline.isSettled) return this.#commitLate(batch);
    const prepared = this.#intake.prepareBatch(batch);
    return prepared instanceof Promise ? this.#submitLater(prepared) : this.submit(prepared);
  }

  /** Commits after finishing the opening, if there is room by now. A batch that makes room does not wait for that. */
  async #commitLate(batch: Batch): Promise<Committed> {
    await ifRoom(() => this.exclusively(() => this.#pipeline.settle()));
    await this.#pipeline.finished;
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
    if (this.#pipeline.closing) await prepared.release();
    this.#assertAccepting();
    await this.submit(prepared);
    const stat = await this.core.blobs.stat(hash);
    if (stat === undefined) throw new Error(`blob ${hash} is gone right after it was stored`);
    return { ...stat, existed, ...(sha256 === undefined ? {} : { sha256 }) };
  }

  submit(prepared: Prepared): Promise<Committed> {
    return this.#pipeline.submit(prepared);
  }

  /** Resolves when every commit sent so far is decided. */
  async settle(): Promise<void> {
    await this.#pipeline.decided();
  }

  /**
   * Upkeep changes files and no meaning. Its writes become durable in a frame of their own. Call this within
   * `exclusively`. The changes of `absorb` to memory and index become visible with the frame.
   */
  async storeWrites(writes: readonly JournalWrite[], absorb?: () => void): Promise<void> {
    await this.#pipeline.storeWrites(writes, () => {
      this.core.tails = writes.reduce(advanceTails, this.core.tails);
      absorb?.();
    });
  }

  /** Runs `work` between two groups. Commits sent meanwhile wait. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#pipeline.exclusively(work);
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

  /** Begins an upkeep task. Call the result when it has ended. */
  takeUpkeep(what: string): () => void {
    this.#assertAccepting();
    const holder = this.#upkeep?.what;
    if (holder !== undefined) {
      throw locked('upkeep', holder, `${what} cannot run while ${holder} runs; wait until it ends`);
    }
    let resolve: (() => void) | undefined;
    const task = { what, ended: new Promise<void>((end) => (resolve = end)) };
    this.#upkeep = task;
    return () => {
      if (this.#upkeep === task) this.#upkeep = undefined;
      resolve?.();
    };
  }

  /** Rebuilds the index, if `error` came from it. Returns whether a retry may work. Not for use within a group. */
  readonly mendBetween = (error: unknown): Promise<boolean> => this.#pipeline.mendBetween(error);

  async checkpoint(): Promise<void> {
    await this.#pipeline.decided();
    await this.#pipeline.settle();
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
      await this.#pipeline.settle();
      await this.#checkpointer.run({ scrub: true });
      await this.#parts.journal.scrub();
      await this.#checkpointer.run({ scrub: false });
    };
    await this.exclusively(() => this.#parts.reserve.lend(true, scrub));
  }

  async reindex(progress?: Progress): Promise<void> {
    await this.exclusively(() => this.#parts.keeper.reindex(progress));
  }

  async close(): Promise<void> {
    this.#pipeline.closing = true;
    this.#checkpointer.stop();
    await this.#upkeep?.ended;
    // Large blobs take a while to be written before their batch joins the queue.
    while (this.#preparing > 0) await new Promise((resolve) => setImmediate(resolve));
    await this.#pipeline.drain();
    const { journal, keeper, mark, lock } = this.#parts;
    const finish = async (): Promise<void> => {
      // A store that could not sync, or has no room, keeps its journal. The next opening replays it.
      if (journal.broken !== undefined) return;
      await this.#pipeline.settle();
      if (this.#checkpointer.clean) return;
      this.#pipeline.rewind();
      await this.#checkpointer.run({ clean: true });
      await journal.trim();
    };
    const handles = [this.#compressor, keeper, mark, journal, this.core.files].map(
      (held) => () => held.close(),
    );
    await closeAll([() => ifRoom(finish), ...handles, () => lock.release()]);
  }

  #assertAccepting(): void {
    if (this.#pipeline.closing) throw storeClosed();
    if (this.#parts.journal.broken !== undefined) throw this.#parts.journal.broken;
  }
}
