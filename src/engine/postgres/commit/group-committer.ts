import { isQuipuError } from '../../../base/errors.ts';
import type { Committed } from '../../batch.ts';
import type { PreparedBatch } from '../../plan/prepared-batch.ts';
import { commitGroup, type GroupWorld } from './commit-group.ts';

// Group commit: batches that arrive while a group is being committed share the next group.
// Invariants
// - Groups of one process are serial, and so are those of all processes: each holds the clock.
// - Batches are planned in the order they came, and acknowledged in that order once all are durable.
// - A batch whose conditions fail is rejected alone; a group that fails is rejected as a whole.

/** The limits of one group keep a transaction small and the wait short. */
const GROUP_BATCHES_MAX = 1024;
const GROUP_BYTES_MAX = 4 * 1024 * 1024;

export interface Done {
  readonly committed: Committed;
  /** True when every blob of the batch was there before it. */
  readonly existed: boolean;
}

interface Waiting {
  readonly batch: PreparedBatch;
  readonly bytes: number;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupCommitter {
  readonly #world: GroupWorld;
  readonly #onCommit: (seq: number) => void;
  #queue: Waiting[] = [];
  #running: Promise<void> | undefined;

  /** `onCommit` hears of the last commit of each group, before it is acknowledged. */
  constructor(world: GroupWorld, onCommit: (seq: number) => void) {
    this.#world = world;
    this.#onCommit = onCommit;
  }

  submit(batch: PreparedBatch): Promise<Done> {
    const bytes = batch.blobs.reduce((sum, { squeezed }) => sum + squeezed.stored.length, 0);
    return new Promise((resolve, reject) => {
      this.#queue.push({ batch, bytes, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when no batch is left. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Batches sent together, and batches of callers that were acknowledged together, share a group.
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#queue.length === 0) break;
      await this.#runGroup(this.#takeGroup());
    }
    this.#running = undefined;
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const waiting of this.#queue) {
      const full = count === GROUP_BATCHES_MAX || bytes + waiting.bytes > GROUP_BYTES_MAX;
      if (count > 0 && full) break;
      bytes += waiting.bytes;
      count += 1;
    }
    const group = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    return group;
  }

  async #runGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const decisions = await commitGroup(
        this.#world,
        group.map(({ batch }) => batch),
      );
      const last = decisions.findLast((decision) => 'committed' in decision);
      if (last !== undefined && 'committed' in last) this.#onCommit(last.committed.seq);
      for (const [at, decision] of decisions.entries()) {
        if ('error' in decision) group[at]?.reject(decision.error);
        else group[at]?.resolve(decision);
      }
    } catch (error) {
      // One batch has a value that no column takes. The other batches must not fail with it.
      if (group.length > 1 && isQuipuError(error, 'INVALID')) {
        for (const waiting of group) await this.#runGroup([waiting]);
      } else {
        for (const { reject } of group) reject(error);
      }
    }
  }
}
