import type { Committed } from '../../batch.ts';
import { ERASURES_LOG } from '../../names.ts';
import { sealsText } from '../../plan/plan-streams.ts';
import type { PreparedBatch } from '../../plan/prepared-batch.ts';
import type { Planned } from '../../plan/report.ts';
import type { CompressJob, Compressor } from '../compress/compressor.ts';

// Commits wait here for their group. Commits that arrive while a group is being written share the next one.
// Invariants
// - Commits leave in the order they came.
// - A commit joins a group only when its blobs are compressed, and no later commit overtakes it.

/** The limits of one group keep a frame small and the wait short. */
export const GROUP_BATCHES_MAX = 1024;
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
/**
 * A group starts when this many batches are ready, while the compression thread goes on with the rest. A lower
 * number would cost a sync for a handful of batches. A higher number would leave the thread idle during the sync.
 */
const GROUP_BATCHES_ENOUGH = 16;
/** The bytes that a batch may add and still make room: the reason of a tombstone, or a line of a list. */
const LITTLE_BYTES = 64 * 1024;

/** A batch, and the compression jobs of its blobs that are not finished. */
export interface Submission {
  readonly batch: PreparedBatch;
  readonly jobs: readonly CompressJob[];
  /** Called once, when the batch is decided. The commit is settled when the call is done. */
  release(): Promise<void> | undefined;
}

/** One commit, from the queue to its acknowledgement. */
export class WaitingCommit {
  readonly submission: Submission;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
  /** Undefined before the commit is planned, and after it was rejected. */
  planned: Planned | undefined;
  /** True when the caller has been told the outcome, or is about to be. */
  settled = false;

  constructor(
    submission: Submission,
    resolve: (committed: Committed) => void,
    reject: (error: unknown) => void,
  ) {
    this.submission = submission;
    this.resolve = resolve;
    this.reject = reject;
  }

  get isReady(): boolean {
    for (const job of this.submission.jobs) if (!job.done) return false;
    return true;
  }

  /** The size of a ready commit. A blob that is still being compressed has no length yet. */
  get storedBytes(): number {
    let bytes = 0;
    for (const { compressed } of this.submission.batch.blobs) bytes += compressed.stored.length;
    return bytes;
  }

  /** True when the batch removes something and adds little. On a full disk such a batch may use the reserve. */
  get makesRoom(): boolean {
    const { changes, blobs, extents } = this.submission.batch;
    const { contexts = [], logs = [], docs = [], patches = [] } = changes;
    const { turns = [], opens = [], deltas = [], seals = [] } = changes;
    const adds = turns.length + opens.length + deltas.length + seals.length + extents.length;
    if (adds > 0) return false;
    const brought = blobs.reduce((bytes, { compressed }) => bytes + compressed.rawLength, 0);
    if (brought > LITTLE_BYTES) return false;
    return (
      contexts.some((change) => change.do === 'remove') ||
      logs.some((change) => change.do === 'remove' || change.name === ERASURES_LOG) ||
      docs.some(({ content }) => content === undefined) ||
      patches.some(({ tombstone }) => tombstone)
    );
  }
}

export class CommitQueue {
  readonly #compressor: Compressor;
  #waiting: WaitingCommit[] = [];

  constructor(compressor: Compressor) {
    this.#compressor = compressor;
  }

  get length(): number {
    return this.#waiting.length;
  }

  add(commit: WaitingCommit): void {
    this.#waiting.push(commit);
  }

  /**
   * Takes the first commits. Helps to compress them instead of waiting idly. With `apart`, commits that make room
   * and commits that take room are not in one group.
   */
  async takeGroup(apart: boolean): Promise<WaitingCommit[]> {
    await this.#untilReady();
    let bytes = 0;
    let count = 0;
    for (const commit of this.#waiting) {
      if (count > 0 && (count === GROUP_BATCHES_MAX || !commit.isReady)) break;
      if (apart && commit.makesRoom !== this.#waiting[0]?.makesRoom) break;
      if (count > 0 && sealsText(commit.submission.batch.changes)) break;
      bytes += commit.storedBytes;
      if (count > 0 && bytes > GROUP_BYTES_MAX) break;
      count += 1;
    }
    const group = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return group;
  }

  /** Resolves when all commits are ready, or enough of them, or some while there is nothing to help with. */
  async #untilReady(): Promise<void> {
    for (let ready = 0; ;) {
      ready = this.#countReady(ready);
      if (ready === this.#waiting.length || ready >= GROUP_BATCHES_ENOUGH) return;
      if (this.#compressor.help()) continue;
      if (ready > 0) return;
      const jobs = this.#waiting[0]?.submission.jobs ?? [];
      for (const job of jobs) await this.#compressor.untilDone(job);
    }
  }

  /** Counts the ready commits at the front. The first `known` are known to be ready. */
  #countReady(known: number): number {
    let ready = known;
    while (this.#waiting[ready]?.isReady === true) ready += 1;
    return ready;
  }
}
