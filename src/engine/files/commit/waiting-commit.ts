import type { Committed } from '../../batch.ts';
import type { Planned, PreparedBatch } from '../../plan/planned.ts';
import { makesRoom } from './makes-room.ts';
import type { SqueezeJob } from '../squeeze/squeezer.ts';

/** A batch, and the compression jobs of its blobs that are not finished. */
export interface Submission {
  readonly batch: PreparedBatch;
  readonly jobs: readonly SqueezeJob[];
  /** Called once, when the batch is decided. The commit is settled when the call is done. */
  release(): Promise<void> | undefined;
}

/**
 * One commit, from the queue to its acknowledgement. A class, and it carries its own plan: V8 soon makes the
 * lists and objects that a group's literals build among the old ones, where each keeps what it names until a
 * full collection. With 64 writers that was half of all payloads, and twice as many full collections.
 */
export class WaitingCommit {
  readonly submission: Submission;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
  /** Undefined before the commit is planned, and after it was rejected. */
  planned: Planned | undefined;
  /** The sequence number that the commit reports once its group is durable. */
  seq = 0;
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

  get makesRoom(): boolean {
    return makesRoom(this.submission.batch);
  }

  get isReady(): boolean {
    for (const job of this.submission.jobs) if (!job.done) return false;
    return true;
  }

  /** The size of a ready commit. A blob that is still being compressed has no length yet. */
  get storedBytes(): number {
    let bytes = 0;
    for (const { squeezed } of this.submission.batch.blobs) bytes += squeezed.stored.length;
    return bytes;
  }

  acknowledge(this: PlannedCommit): void {
    this.resolve(this.planned.toCommitted(this.seq));
  }
}

export type PlannedCommit = WaitingCommit & { readonly planned: Planned };

export function isPlanned(waiting: WaitingCommit): waiting is PlannedCommit {
  return waiting.planned !== undefined;
}
