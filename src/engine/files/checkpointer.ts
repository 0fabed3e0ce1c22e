import type { Core } from './core.ts';
import { type Checkpoint, type CheckpointBody, writeCheckpoint } from './checkpoint-file.ts';
import { toQuipuError } from './io-error.ts';
import type { Journal, JournalPlace } from './journal.ts';
import { SyncFailure } from './sync-failure.ts';
import type { Tails } from './tails.ts';

// Checkpoints: when everything up to a frame has reached its own file for certain, the journal need
// not keep it. They run beside commits, one at a time.

/** The last frame that is applied and visible, and where the journal goes on after it. */
export interface Applied {
  readonly seq: number;
  readonly place: JournalPlace;
  readonly tails: Tails;
}

export class Checkpointer {
  readonly #core: Core;
  readonly #journal: Journal;
  readonly #durability: 'safe' | 'unsafe';
  readonly #applied: () => Applied;
  #last: Checkpoint;
  #running: Promise<void> = Promise.resolve();

  constructor(
    parts: { core: Core; journal: Journal; durability: 'safe' | 'unsafe'; applied: () => Applied },
    last: Checkpoint,
  ) {
    this.#core = parts.core;
    this.#journal = parts.journal;
    this.#durability = parts.durability;
    this.#applied = parts.applied;
    this.#last = last;
  }

  /** Frames up to this one are not needed any more. */
  get seq(): number {
    return this.#last.seq;
  }

  get place(): JournalPlace {
    return this.#last.body.journal;
  }

  /** True while the last checkpoint says that nothing was written since. */
  get clean(): boolean {
    return this.#last.body.clean;
  }

  /** Everything visible now needs no journal when it resolves. `clean` says that nothing will follow. */
  async run(clean = false): Promise<void> {
    const mine = this.#running.then(() => this.#run(clean));
    this.#running = mine.catch(() => undefined);
    return mine;
  }

  /** Before the first frame after a clean closing: from now on the journal must be looked at. */
  async begin(): Promise<void> {
    if (!this.#last.body.clean) return;
    const { journal, tails } = this.#last.body;
    await this.#guard(async () => {
      await this.#write(this.#last.seq, {
        clean: false,
        durability: this.#durability,
        journal,
        tails,
      });
    });
  }

  async #run(clean: boolean): Promise<void> {
    const { seq, place, tails } = this.#applied();
    if (seq === this.#last.seq && clean === this.#last.body.clean) return;
    await this.#core.files.catchUp();
    // Started now: the positions it writes are those of this moment.
    const indexed = this.#core.index.sync();
    indexed.catch(() => undefined);
    await this.#guard(async () => {
      await this.#core.files.syncAll();
      await indexed;
      await this.#write(seq, { clean, durability: this.#durability, journal: place, tails });
    });
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
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
