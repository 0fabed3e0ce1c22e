import { SyncFailure, toQuipuError } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Index } from '../index/store-index.ts';
import type { Tails } from '../truth/state.ts';
import {
  type Age,
  ageOf,
  type Checkpoint,
  type CheckpointBody,
  noteAge,
  writeCheckpoint,
} from './checkpoint-file.ts';
import type { Journal, JournalPlace } from './journal.ts';

// Checkpoints: once everything up to a frame is certainly in its own file, the journal need not keep it.
// Checkpoints run beside commits, one at a time.

/** The state that a checkpoint describes. `Core` is it. */
export interface CheckpointedState {
  readonly files: StoreFiles;
  readonly index: Index;
  readonly tails: Tails;
  /** The last visible frame, and the place where the journal continues after it. */
  readonly seq: number;
  readonly place: JournalPlace;
}

export interface CheckpointerParts {
  readonly core: CheckpointedState;
  readonly journal: Journal;
  readonly durability: 'safe' | 'unsafe';
  readonly clock: () => number;
  /** The longest time between a commit and its checkpoint. Infinity: checkpoints depend on size alone. */
  readonly checkpointMs: number;
}

export interface CheckpointOptions {
  /** True when the store is being closed and nothing will follow. */
  readonly clean?: boolean;
  /** Whether the journal must be overwritten. Unchanged when absent. */
  readonly scrub?: boolean;
}

export class Checkpointer {
  readonly #core: CheckpointedState;
  readonly #journal: Journal;
  readonly #durability: 'safe' | 'unsafe';
  readonly #clock: () => number;
  readonly #delayMs: number;
  #last: Checkpoint;
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(parts: CheckpointerParts, last: Checkpoint) {
    this.#core = parts.core;
    this.#journal = parts.journal;
    this.#durability = parts.durability;
    this.#clock = parts.clock;
    this.#delayMs = parts.checkpointMs;
    this.#last = last;
  }

  /** Frames up to this one are not needed any more. */
  get seq(): number {
    return this.#last.seq;
  }

  get ages(): readonly Age[] {
    return this.#last.body.ages;
  }

  /** True while the last checkpoint says that nothing was written since. */
  get clean(): boolean {
    return this.#last.body.clean;
  }

  /** Continues from a checkpoint that an opening without room wrote later. */
  goOnFrom(checkpoint: Checkpoint): void {
    this.#last = checkpoint;
  }

  /** When this resolves, everything visible now needs no journal. */
  async run(options: CheckpointOptions = {}): Promise<void> {
    const mine = this.#running.then(() => this.#run(options));
    this.#running = mine.catch(() => undefined);
    return mine;
  }

  /** Call this after a group: a checkpoint follows some time after the first group that needs one. */
  schedule(): void {
    // A checkpoint per segment keeps the other segment free without making a commit wait.
    if (this.#core.place.segment !== this.#last.body.journal.segment) this.#runNow();
    else if (this.#timer === undefined && !this.#stopped && this.#delayMs !== Infinity) {
      this.#timer = setTimeout(() => this.#runNow(), this.#delayMs).unref();
    }
  }

  /** From now on, a checkpoint runs only when asked for. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Call this before the first frame after a clean close: from now on an opening must read the journal. */
  async begin(): Promise<void> {
    if (!this.#last.body.clean) return;
    const body = { ...this.#last.body, clean: false, durability: this.#durability };
    await this.#guard(() => this.#write(this.#last.seq, body));
  }

  #runNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#stopped) return;
    // A failure shows at the next commit, through the journal or when the segment is needed.
    this.run().catch(() => undefined);
  }

  async #run({ clean = false, scrub }: CheckpointOptions): Promise<void> {
    const { seq, place: journal, tails } = this.#core;
    const { body } = this.#last;
    const again = scrub !== undefined && scrub !== body.scrub;
    if (seq === this.#last.seq && clean === body.clean && !again) return;
    await this.#core.files.catchUp();
    // The index sync starts now: it writes the positions of this moment.
    const indexed = this.#core.index.sync();
    indexed.catch(() => undefined);
    await this.#guard(async () => {
      // Both are awaited: even when one fails, the other must not be left running.
      const [synced] = await Promise.allSettled([this.#core.files.syncAll(), indexed]);
      if (synced.status === 'rejected') throw synced.reason;
      await indexed;
      const ages = noteAge(body.ages, ageOf(tails, this.#clock()));
      const durability = this.#durability;
      await this.#write(seq, {
        clean,
        durability,
        journal,
        tails,
        ages,
        scrub: scrub ?? body.scrub,
      });
    });
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      // After a failed sync a second sync proves nothing, and the journal must keep its frames.
      if (this.#journal.broken !== undefined) throw this.#journal.broken;
      await work();
    } catch (error) {
      // The journal still has every page that a failed sync may have dropped.
      if (error instanceof SyncFailure) this.#journal.breakDown(error.cause, this.#core.files.root);
      throw this.#journal.broken ?? toQuipuError(error, this.#core.files.root);
    }
  }

  async #write(seq: number, body: CheckpointBody): Promise<void> {
    const checkpoint = { generation: this.#last.generation + 1, seq, body };
    await writeCheckpoint(this.#core.files, checkpoint);
    this.#last = checkpoint;
  }
}
