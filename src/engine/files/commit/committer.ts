import { QuipuError } from '../../../base/errors.ts';
import type { Committed } from '../../batch.ts';
import { type Draft, NotInMemory } from '../../plan/draft.ts';
import { planBatch } from '../../plan/plan-batch.ts';
import type { Planned } from '../../plan/planned.ts';
import type { FrameOptions } from '../journal/frames.ts';
import type { Squeezer } from '../squeeze/squeezer.ts';
import { isPlanned, type PlannedCommit, type Submission, WaitingCommit } from './waiting-commit.ts';

// Group commit: commits that arrive while a group is being written share the next group.
// Invariants
// - Groups are serial: a group is planned over a state in which every earlier one is durable, visible and
//   in its files (or waiting for a full disk). So a plan never builds on anything that could still be lost.
// - Within a group, batches are planned in the order they came and acknowledged in that order.
// - A batch joins a group only when its blobs are compressed, and no later batch overtakes it.
// - A batch whose conditions fail is rejected alone; a group that cannot be made durable is rejected
//   as a whole, and leaves no trace in memory.

/** The limits of one group keep a frame small and the wait short. */
const GROUP_BATCHES_MAX = 1024;
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
/**
 * A group starts when this many batches are ready, while the compression thread goes on with the rest. A lower
 * number would cost a sync for a handful of batches. A higher number would leave the thread idle during the sync.
 */
const GROUP_BATCHES_ENOUGH = 16;

/** The operations that a committer needs to store a group. */
export interface CommitTarget {
  startDraft(): Draft;
  /**
   * Makes the draft durable and visible; returns its frame number. Throws, and changes nothing, otherwise.
   */
  store(draft: Draft, options: FrameOptions): Promise<number>;
  /**
   * True while the disk is short of room. Then only batches that make room can be stored, so they form their own
   * groups.
   */
  readonly isShortOfRoom: boolean;
  /** Does the work that could wait until the last group was acknowledged. */
  finish(): Promise<void>;
  /** Resolves when every commit that was sent at the same time is here. */
  endOfTurn(): Promise<void>;
  /** Runs once a group is visible, after its commits were acknowledged. */
  announce(planned: readonly { planned: Planned; seq: number }[]): void;
  /** Repairs the cause of a failed plan. Returns whether that was possible. */
  mend(error: unknown): Promise<boolean>;
}

export class Committer {
  readonly #target: CommitTarget;
  readonly #squeezer: Squeezer;
  #queue: WaitingCommit[] = [];
  /** Exclusive work, which runs without a group beside it, in the order of the calls. */
  readonly #exclusive: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;
  #underWay = 0;
  /** The commit that was sent last. Batches are decided in the order of arrival. */
  #newest: Promise<Committed> | undefined;
  /** Acknowledges the last group, which is durable and visible. */
  #lastDone: (() => void) | undefined;
  /** The number of commits in that group. */
  #unacknowledged = 0;
  /** The sequence number that commits without changes report. */
  #lastSeq: number;

  constructor(target: CommitTarget, squeezer: Squeezer, lastSeq: number) {
    this.#target = target;
    this.#squeezer = squeezer;
    this.#lastSeq = lastSeq * GROUP_BATCHES_MAX;
  }

  /** Commits that are in the queue or in a group. */
  get underWay(): number {
    return this.#underWay;
  }

  submit(submission: Submission): Promise<Committed> {
    this.#underWay += 1;
    const committed = new Promise<Committed>((resolve, reject) => {
      this.#queue.push(new WaitingCommit(submission, resolve, reject));
      this.#running ??= this.#run();
    });
    this.#newest = committed;
    return committed;
  }

  /** Resolves when everything sent so far is decided. Later commits do not count. */
  async settled(): Promise<void> {
    await this.#newest?.catch(() => undefined);
  }

  /** Runs `work` between two groups. Commits sent meanwhile wait. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#exclusive.push(() => work().then(resolve, reject));
      this.#running ??= this.#run();
    });
  }

  /** Resolves when no work is left. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    for (;;) {
      // Writers that were acknowledged together, or whose requests came together, send their commits in the
      // same turn of the event loop; waiting for its end lets them share a frame.
      await this.#target.endOfTurn();
      await this.#target.finish();
      if (this.#exclusive.length > 0) this.#acknowledgeLast();
      const work = this.#exclusive.shift();
      if (work !== undefined) await work();
      else if (this.#queue.length > 0) await this.#runGroup(await this.#takeGroup());
      else break;
    }
    this.#running = undefined;
  }

  /**
   * A finished group is acknowledged while the disk writes the next one, if that is ready. So the work of its
   * writers then costs no extra time.
   */
  #acknowledgeLast(): void {
    const last = this.#lastDone;
    this.#lastDone = undefined;
    this.#unacknowledged = 0;
    last?.();
  }

  /** Takes the first batches of the queue. Helps to compress them instead of waiting idly. */
  async #takeGroup(): Promise<WaitingCommit[]> {
    for (let ready = 0; ;) {
      ready = this.#countReady(ready);
      if (ready === this.#queue.length || ready >= GROUP_BATCHES_ENOUGH) break;
      if (this.#squeezer.help()) continue;
      if (ready > 0) break;
      for (const job of this.#queue[0]?.submission.jobs ?? []) await this.#squeezer.untilDone(job);
    }
    const most = this.#shareOfGroup();
    let bytes = 0;
    let count = 0;
    for (const waiting of this.#queue) {
      if (count > 0 && (count === most || !waiting.isReady)) break;
      if (this.#target.isShortOfRoom && waiting.makesRoom !== this.#queue[0]?.makesRoom) break;
      bytes += waiting.storedBytes;
      if (count > 0 && bytes > GROUP_BYTES_MAX) break;
      count += 1;
    }
    const group = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    return group;
  }

  /**
   * Half of the commits that wait for the disk or for their acknowledgement. So writers prepare one half while the
   * other half is synced. With all 64 writers in one group this thread was idle for the 1.5 ms of each sync, an
   * eighth of its time.
   */
  #shareOfGroup(): number {
    const half = Math.ceil((this.#queue.length + this.#unacknowledged) / 2);
    return Math.min(Math.max(half, GROUP_BATCHES_ENOUGH), GROUP_BATCHES_MAX);
  }

  /** Counts the ready commits at the front of the queue. The first `known` are known to be ready. */
  #countReady(known: number): number {
    let ready = known;
    for (; ready < this.#queue.length; ready += 1) {
      const waiting = this.#queue[ready];
      if (waiting === undefined || !waiting.isReady) break;
    }
    return ready;
  }

  async #runGroup(group: readonly WaitingCommit[]): Promise<void> {
    try {
      const draft = this.#target.startDraft();
      for (const waiting of group) {
        try {
          waiting.planned = this.#planNow(draft, waiting);
        } catch (error) {
          waiting.planned = await this.#planAgain(draft, waiting, error);
        }
      }
      const changed = group.some(({ planned }) => planned?.changed === true);
      const seq = changed ? await this.#store(draft, group) : this.#lastSeq;
      this.#acknowledgeLast();
      const ready = group.filter(isPlanned);
      this.#lastDone = () => this.#acknowledge(ready, seq);
      this.#unacknowledged = ready.length;
      if (this.#countReady(0) === 0 || this.#exclusive.length > 0) this.#acknowledgeLast();
    } catch (error) {
      this.#acknowledgeLast();
      for (const waiting of group) {
        if (!waiting.settled) this.#reject(waiting, error);
      }
    }
  }

  async #store(draft: Draft, group: readonly WaitingCommit[]): Promise<number> {
    const alone = group.length === 1 && this.#queue.length === 0 && this.#unacknowledged === 0;
    const makesRoom = group.every((waiting) => waiting.makesRoom);
    const waiting = (): void => this.#acknowledgeLast();
    const frame = await this.#target.store(draft, { alone, makesRoom, waiting });
    return frame * GROUP_BATCHES_MAX;
  }

  #acknowledge(ready: readonly PlannedCommit[], firstSeq: number): void {
    for (const waiting of ready) {
      if (waiting.planned.changed) this.#lastSeq = Math.max(firstSeq, this.#lastSeq + 1);
      waiting.seq = this.#lastSeq;
      const released = this.#release(waiting);
      if (released === undefined) waiting.acknowledge();
      else released.then(() => waiting.acknowledge(), waiting.reject);
    }
    this.#target.announce(ready);
  }

  #reject(waiting: WaitingCommit, error: unknown): void {
    const released = this.#release(waiting);
    if (released === undefined) waiting.reject(error);
    else released.then(() => waiting.reject(error), waiting.reject);
  }

  /** Releases what the batch held. The caller learns the outcome once that is done. */
  #release(waiting: WaitingCommit): Promise<void> | undefined {
    this.#underWay -= 1;
    waiting.settled = true;
    return waiting.submission.release();
  }

  #planNow(draft: Draft, { submission }: WaitingCommit): Planned {
    return draft.attempt(() => planBatch(draft, submission.batch));
  }

  /** Continues after `error` ended the first plan: reads or repairs what was missing, and plans again. */
  async #planAgain(
    draft: Draft,
    waiting: WaitingCommit,
    error: unknown,
  ): Promise<Planned | undefined> {
    let mended = false;
    for (let last = error; ;) {
      try {
        if (last instanceof NotInMemory) {
          await last.load();
        } else {
          if (mended || last instanceof QuipuError) throw last;
          mended = await this.#target.mend(last);
          if (!mended) throw last;
        }
      } catch (final) {
        this.#reject(waiting, final);
        return undefined;
      }
      try {
        return this.#planNow(draft, waiting);
      } catch (next) {
        last = next;
      }
    }
  }
}
