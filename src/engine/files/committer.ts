import { QuipuError } from '../../base/errors.ts';
import type { Committed } from '../batch.ts';
import type { Draft } from './plan/draft.ts';
import { planBatch } from './plan/plan-batch.ts';
import type { Planned, PreparedBatch } from './plan/planned.ts';

// Group commit: commits that arrive while a group is on its way to the disk share the next one.
// Invariants
// - Groups are serial: a group is planned over a state in which every earlier one is durable, applied
//   and visible. So a plan never builds on anything that could still be lost.
// - Within a group, batches are planned in the order they came and acknowledged in that order.
// - A batch whose conditions fail is rejected alone; a group that cannot be made durable is rejected
//   as a whole, and leaves no trace in memory.

/** Bounds of one group, so that one frame stays small and nobody waits long for others. */
const GROUP_BATCHES_MAX = 1024;
const GROUP_BYTES_MAX = 4 * 1024 * 1024;

/** What a committer needs to make a group true. */
export interface CommitTarget {
  startDraft(): Draft;
  /** Makes the draft durable and visible; returns its frame number. Throws, and changes nothing, otherwise. */
  store(draft: Draft): Promise<number>;
  /** Runs once a group is visible, after its commits were acknowledged. */
  announce(planned: readonly { planned: Planned; seq: number }[]): void;
  /** Mends what made planning fail, and says whether that was possible. */
  mend(error: unknown): Promise<boolean>;
}

interface Waiting {
  readonly batch: PreparedBatch;
  readonly bytes: number;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
}

interface Ready {
  readonly waiting: Waiting;
  readonly planned: Planned;
}

export class Committer {
  readonly #target: CommitTarget;
  #queue: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** The number that commits which changed nothing report. */
  #lastSeq: number;

  constructor(target: CommitTarget, lastSeq: number) {
    this.#target = target;
    this.#lastSeq = lastSeq * GROUP_BATCHES_MAX;
  }

  submit(batch: PreparedBatch): Promise<Committed> {
    const bytes = batch.blobs.reduce((sum, blob) => sum + blob.stored.length, 0);
    return new Promise((resolve, reject) => {
      this.#queue.push({ batch, bytes, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Runs `work` while no group is under way; commits sent meanwhile wait. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    while (this.#running !== undefined) await this.#running;
    const result = work();
    this.#running = result.then(noop, noop).then(() => this.#rest());
    return result;
  }

  /** Resolves when everything sent so far is decided. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Writers that were acknowledged together send their next commits in the same turn of the event
    // loop; waiting for its end lets them share a frame.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0) await this.#runGroup(this.#takeGroup());
    this.#running = undefined;
  }

  #rest(): void {
    this.#running = this.#queue.length > 0 ? this.#run() : undefined;
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const waiting of this.#queue) {
      if (count > 0 && (count === GROUP_BATCHES_MAX || bytes + waiting.bytes > GROUP_BYTES_MAX))
        break;
      bytes += waiting.bytes;
      count += 1;
    }
    const group = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    return group;
  }

  async #runGroup(group: readonly Waiting[]): Promise<void> {
    const ready: Ready[] = [];
    try {
      const draft = this.#target.startDraft();
      for (const waiting of group) {
        const planned = await this.#plan(draft, waiting);
        if (planned !== undefined) ready.push({ waiting, planned });
      }
      const changed = ready.some(({ planned }) => planned.changed);
      const seq = changed ? (await this.#target.store(draft)) * GROUP_BATCHES_MAX : this.#lastSeq;
      this.#acknowledge(ready, seq);
    } catch (error) {
      for (const { waiting } of ready) waiting.reject(error);
    }
  }

  #acknowledge(ready: readonly Ready[], firstSeq: number): void {
    const numbered = ready.map(({ waiting, planned }) => {
      if (planned.changed) this.#lastSeq = Math.max(firstSeq, this.#lastSeq + 1);
      return { waiting, planned, seq: this.#lastSeq };
    });
    for (const { waiting, planned, seq } of numbered) waiting.resolve(planned.toCommitted(seq));
    this.#target.announce(numbered);
  }

  async #plan(draft: Draft, waiting: Waiting): Promise<Planned | undefined> {
    for (let tries = 0; ; tries += 1) {
      const own = draft.child();
      try {
        const planned = await planBatch(own, waiting.batch);
        draft.absorb(own);
        return planned;
      } catch (error) {
        if (tries === 0 && !(error instanceof QuipuError) && (await this.#target.mend(error)))
          continue;
        waiting.reject(error);
        return undefined;
      }
    }
  }
}

function noop(): void {
  // The caller of `exclusively` has the result; the queue only waits for the end.
}
