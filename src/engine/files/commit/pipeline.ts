import { QuipuError, storeClosed } from '../../../base/errors.ts';
import { encodeFrame, type JournalWrite } from '../../../format/journal-frame.ts';
import type { BlobPut, Committed } from '../../batch.ts';
import type { IoFile } from '../../io.ts';
import { type Draft, NotInMemory } from '../../plan/draft.ts';
import { planBatch } from '../../plan/plan-batch.ts';
import type { ChangeListeners, Planned } from '../../plan/report.ts';
import type { Core } from '../core/core.ts';
import type { IndexKeeper } from '../core/index-keeper.ts';
import type { Checkpoint, Checkpointer } from '../journal/checkpoint-file.ts';
import { type Journal, leaveMark } from '../journal/journal.ts';
import type { Compressor } from '../compress/compressor.ts';
import { CommitQueue, GROUP_BATCHES_MAX, type Submission, WaitingCommit } from './commit-queue.ts';
import { encodeGroup } from './encode-group.ts';
import type { Reserve } from '../journal/reserve.ts';
import type { Prepared } from '../packs/blob-intake.ts';

// The way of a commit, in one direction:
//
//   prepare        packs/blob-intake.ts          compress blobs, write large ones to a pack of their own
//   plan           ../plan/plan-batch.ts         check conditions, give out ids
//   encode         encode-group.ts               the group as writes: these bytes at this offset of that file
//   make durable   journal/journal.ts            one frame, one sync; from here on the group counts
//   apply          disk/store-files.ts           carry the writes out, without a sync
//   publish        core/core.ts                  reads see the group
//   acknowledge    below                         resolve the promises, tell the listeners
//
// `Writer` prepares each commit and submits it. The rest happens here, group by group. The writes of upkeep enter at
// "make durable".
// Invariants
// - Groups are serial: a group is planned over a state in which every earlier one is durable, visible and in its
//   files (or waiting for a full disk). So a plan never builds on anything that could still be lost.
// - Within a group, batches are planned in the order they came and acknowledged in that order.
// - A batch whose conditions fail is rejected alone. A group that cannot be made durable is rejected as a whole, and
//   leaves no trace in memory.
// - Nothing is stored while writes of an earlier frame wait for room, nor while the store is not settled. A store
//   is not settled when its opening found no room to make replayed data durable. Such a store can be read and keeps
//   its journal.
// - A frame that takes room needs the reserve to exist. A frame that makes room may release it.

export interface PipelineParts {
  readonly core: Core;
  readonly journal: Journal;
  readonly mark: IoFile;
  readonly keeper: IndexKeeper;
  readonly checkpointer: Checkpointer;
  readonly reserve: Reserve;
  readonly compressor: Compressor;
  readonly listeners: ChangeListeners;
  readonly clock: () => number;
  /** Finishes an opening that found no room. This must be done before anything is stored. */
  readonly settle: (() => Promise<Checkpoint>) | undefined;
  /** The last step of an opening. It begins once `settle` is done. */
  readonly onSettled: () => Promise<void>;
  /** Makes a blob ready that a plan turned out to need. */
  readonly prepare: (blob: BlobPut) => Promise<Prepared>;
}

export class Pipeline {
  /** Counts the starts and ends of frames that are becoming visible. The number is odd in between. */
  moves = 0;
  /** Set when the store is being closed. Upkeep in progress then ends at its next step. */
  closing = false;
  readonly #parts: PipelineParts;
  readonly #queue: CommitQueue;
  /** Exclusive work, which runs without a group beside it, in the order of the calls. */
  readonly #exclusive: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;
  #underWay = 0;
  /** The commit that was sent last. Batches are decided in the order of arrival. */
  #newest: Promise<Committed> | undefined;
  /** The sequence number that commits without changes report. */
  #lastSeq: number;
  #settle: (() => Promise<Checkpoint>) | undefined;
  #finished: Promise<void> = Promise.resolve();

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#queue = new CommitQueue(parts.compressor);
    this.#lastSeq = parts.core.seq * GROUP_BATCHES_MAX;
    this.#settle = parts.settle;
  }

  /** Commits that are in the queue or in a group. */
  get underWay(): number {
    return this.#underWay;
  }

  get isSettled(): boolean {
    return this.#settle === undefined;
  }

  /** Resolves when an unfinished opening is finished, as far as there is room for it. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  submit(submission: Submission): Promise<Committed> {
    this.#underWay += 1;
    const committed = new Promise<Committed>((resolve, reject) => {
      this.#queue.add(new WaitingCommit(submission, resolve, reject));
      this.#running ??= this.#run();
    });
    this.#newest = committed;
    return committed;
  }

  /** Runs `work` between two groups. Commits sent meanwhile wait. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    if (this.closing) return Promise.reject(storeClosed());
    return new Promise((resolve, reject) => {
      this.#exclusive.push(() => work().then(resolve, reject));
      this.#running ??= this.#run();
    });
  }

  /** Stores writes that change files and no meaning. Call this within `exclusively`. */
  async storeWrites(writes: readonly JournalWrite[], publish: () => void): Promise<void> {
    await this.#makeReady(true);
    await this.#carryOut(writes, publish, { makesRoom: true, alone: false });
    this.#parts.keeper.flushQuietly(this.mendBetween);
  }

  /** Resolves when everything sent so far is decided. Later commits do not count. */
  async decided(): Promise<void> {
    await this.#newest?.catch(() => undefined);
  }

  /** Resolves when no work is left. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Finishes an unfinished opening. Throws DISK_FULL while there is still no room. */
  async settle(): Promise<void> {
    if (this.#settle === undefined) return;
    const { checkpointer, onSettled } = this.#parts;
    checkpointer.goOnFrom(await this.#settle());
    this.#settle = undefined;
    this.rewind();
    this.#finished = onSettled().catch(() => undefined);
  }

  /** Call this once nothing is written any more: the journal starts over, and the next opening does not need it. */
  rewind(): void {
    const { core, journal } = this.#parts;
    journal.rewind();
    core.place = journal.place;
  }

  /** Rebuilds the index between two groups, if `error` came from it. Returns whether a retry may work. */
  readonly mendBetween = (error: unknown): Promise<boolean> =>
    this.#parts.keeper.mendBetween(error, this);

  async #run(): Promise<void> {
    const { files } = this.#parts.core;
    for (;;) {
      // Writers that were acknowledged together, or whose requests came together, send their commits in the
      // same turn of the event loop. The wait for its end lets them share a frame.
      await files.io.endOfTurn?.();
      const work = this.#exclusive.shift();
      if (work !== undefined) {
        await files.catchUpIfPossible();
        await work();
      } else if (this.#queue.length > 0) {
        await this.#runGroup(await this.#queue.takeGroup(this.#parts.reserve.isShort));
      } else break;
    }
    this.#running = undefined;
  }

  async #runGroup(group: readonly WaitingCommit[]): Promise<void> {
    const held: Prepared[] = [];
    try {
      const draft = await this.#plan(group, held);
      const changed = group.some(({ planned }) => planned?.changed === true);
      if (changed) await this.#store(draft, group);
      this.#acknowledge(group);
    } catch (error) {
      for (const commit of group) if (!commit.settled) this.#reject(commit, error);
    } finally {
      // The bytes are synced, so a file that cannot be closed does no harm.
      for (const prepared of held) await prepared.release()?.catch(() => undefined);
    }
  }

  /**
   * Plan: each batch of the group over the one before. A batch whose conditions fail is rejected here. `held` gets what
   * must be released when the group has ended.
   */
  async #plan(group: readonly WaitingCommit[], held: Prepared[]): Promise<Draft> {
    const draft = this.#parts.core.startDraft(this.#parts.clock(), async (blob) => {
      const prepared = await this.#parts.prepare(blob);
      held.push(prepared);
      return prepared.batch;
    });
    for (const commit of group) {
      try {
        commit.planned = planNow(draft, commit);
      } catch (error) {
        commit.planned = await this.#planAgain(draft, commit, error);
      }
    }
    return draft;
  }

  /** Continues after `error` ended the first plan: reads or repairs what was missing, and plans again. */
  async #planAgain(
    draft: Draft,
    commit: WaitingCommit,
    error: unknown,
  ): Promise<Planned | undefined> {
    let mended = false;
    for (let last = error; ;) {
      try {
        if (last instanceof NotInMemory) {
          await last.load();
        } else {
          if (mended || last instanceof QuipuError) throw last;
          mended = await this.#parts.keeper.mend(last);
          if (!mended) throw last;
        }
      } catch (final) {
        this.#reject(commit, final);
        return undefined;
      }
      try {
        return planNow(draft, commit);
      } catch (next) {
        last = next;
      }
    }
  }

  /** Encode, and the stages after it. When this throws, the group left no trace. */
  async #store(draft: Draft, group: readonly WaitingCommit[]): Promise<void> {
    const { core } = this.#parts;
    const makesRoom = group.every((commit) => commit.makesRoom);
    await this.#makeReady(makesRoom);
    const encoded = encodeGroup(draft, core.tails, core.newPack, core);
    const publish = (): void => core.absorb(draft, encoded);
    await this.#carryOut(encoded.writes, publish, { makesRoom, alone: this.#underWay === 1 });
  }

  /** From here on, the files are as the last frame left them, and there is room for the next one. */
  async #makeReady(makesRoom: boolean): Promise<void> {
    const { core, journal, reserve, checkpointer } = this.#parts;
    if (journal.broken !== undefined) throw journal.broken;
    if (!makesRoom && !reserve.isThere) await reserve.fill();
    await reserve.lend(makesRoom, async () => {
      await this.settle();
      await core.files.catchUp();
      await checkpointer.begin();
    });
  }

  /**
   * Make durable, apply, publish: `publish` changes memory so that the frame is visible. `makesRoom`: the frame frees more
   * room than it takes. `alone`: this thread has nothing else to do until the frame is durable.
   */
  async #carryOut(
    writes: readonly JournalWrite[],
    publish: () => void,
    { makesRoom, alone }: { readonly makesRoom: boolean; readonly alone: boolean },
  ): Promise<void> {
    const { core, journal, mark, reserve, checkpointer } = this.#parts;
    const seq = core.seq + 1;
    const frame = encodeFrame(seq, writes, core.files.frameSalt);
    if (journal.mustCheckpoint(frame.length, checkpointer.seq)) {
      await reserve.lend(makesRoom, () => checkpointer.run());
    }
    this.moves += 1;
    try {
      await reserve.lend(makesRoom, () => journal.append(seq, frame, alone));
      await core.files.apply(writes);
      await leaveMark(mark, seq);
      core.seq = seq;
      core.place = journal.place;
      publish();
    } finally {
      this.moves += 1;
    }
  }

  /** Acknowledge: tells each planned commit its outcome, then the listeners. The index and checkpoints go on after. */
  #acknowledge(group: readonly WaitingCommit[]): void {
    const { core, listeners, keeper, checkpointer } = this.#parts;
    const firstSeq = core.seq * GROUP_BATCHES_MAX;
    for (const commit of group) {
      const { planned } = commit;
      if (planned === undefined) continue;
      if (planned.changed) this.#lastSeq = Math.max(firstSeq, this.#lastSeq + 1);
      const seq = this.#lastSeq;
      this.#settleOne(commit, () => commit.resolve(planned.toCommitted(seq)));
      const change = listeners.some ? planned.toChange(seq) : undefined;
      if (change !== undefined) listeners.tell(change);
    }
    keeper.flushQuietly(this.mendBetween);
    checkpointer.schedule();
  }

  #reject(commit: WaitingCommit, error: unknown): void {
    this.#settleOne(commit, () => commit.reject(error));
  }

  /** Releases what the batch held. The caller learns the outcome once that is done. */
  #settleOne(commit: WaitingCommit, tell: () => void): void {
    this.#underWay -= 1;
    commit.settled = true;
    const released = commit.submission.release();
    if (released === undefined) tell();
    else released.then(tell, commit.reject);
  }
}

function planNow(draft: Draft, { submission }: WaitingCommit): Planned {
  return draft.attempt(() => planBatch(draft, submission.batch));
}
