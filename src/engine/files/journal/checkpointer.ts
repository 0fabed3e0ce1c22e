import { type Age, ageOf, noteAge } from '../collect/ages.ts';
import type { Core } from '../core.ts';
import { type Checkpoint, type CheckpointBody, writeCheckpoint } from './checkpoint-file.ts';
import { toQuipuError } from '../disk/io-error.ts';
import type { Journal, JournalPlace } from './journal.ts';
import { SyncFailure } from '../disk/sync-failure.ts';
import type { Tails } from '../commit/tails.ts';

// Checkpoints: when everything up to a frame has reached its own file for certain, the journal need
// not keep it. They run beside commits, one at a time.

/** The last frame that is visible, and where the journal goes on after it. */
export interface Applied {
  readonly seq: number;
  readonly place: JournalPlace;
  readonly tails: Tails;
}

export interface CheckpointerParts {
  readonly core: Core;
  readonly journal: Journal;
  readonly durability: 'safe' | 'unsafe';
  readonly applied: () => Applied;
  readonly clock: () => number;
}

export interface CheckpointOptions {
  /** Nothing will follow: the store is being closed. */
  readonly clean?: boolean;
  /** Whether the journal must be overwritten; unchanged when not said. */
  readonly scrub?: boolean;
}

export class Checkpointer {
  readonly #core: Core;
  readonly #journal: Journal;
  readonly #durability: 'safe' | 'unsafe';
  readonly #applied: () => Applied;
  readonly #clock: () => number;
  #last: Checkpoint;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: CheckpointerParts, last: Checkpoint) {
    this.#core = parts.core;
    this.#journal = parts.journal;
    this.#durability = parts.durability;
    this.#applied = parts.applied;
    this.#clock = parts.clock;
    this.#last = last;
  }

  /** Frames up to this one are not needed any more. */
  get seq(): number {
    return this.#last.seq;
  }

  get place(): JournalPlace {
    return this.#last.body.journal;
  }

  get ages(): readonly Age[] {
    return this.#last.body.ages;
  }

  /** True while the last checkpoint says that nothing was written since. */
  get clean(): boolean {
    return this.#last.body.clean;
  }

  /** An opening that had found no room wrote this one later. */
  goOnFrom(checkpoint: Checkpoint): void {
    this.#last = checkpoint;
  }

  /** Everything visible now needs no journal when it resolves. */
  async run(options: CheckpointOptions = {}): Promise<void> {
    const mine = this.#running.then(() => this.#run(options));
    this.#running = mine.catch(() => undefined);
    return mine;
  }

  /** Before the first frame after a clean closing: from now on the journal must be looked at. */
  async begin(): Promise<void> {
    if (!this.#last.body.clean) return;
    const body = { ...this.#last.body, clean: false, durability: this.#durability };
    await this.#guard(() => this.#write(this.#last.seq, body));
  }

  async #run({ clean = false, scrub }: CheckpointOptions): Promise<void> {
    const { seq, place: journal, tails } = this.#applied();
    const { body } = this.#last;
    const again = scrub !== undefined && scrub !== body.scrub;
    if (seq === this.#last.seq && clean === body.clean && !again) return;
    await this.#core.files.catchUp();
    // Started now: the positions it writes are those of this moment.
    const indexed = this.#core.index.sync();
    indexed.catch(() => undefined);
    await this.#guard(async () => {
      // Whatever becomes of the one, the other is not left under way.
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
      // After a failed sync a second one proves nothing, and the journal must keep what it has.
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
