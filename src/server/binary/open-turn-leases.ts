import type { TurnId } from '../../base/brand.ts';
import { isQuipuError } from '../../base/errors.ts';
import { isOpen } from '../../context/turns/read-turns.ts';
import type { Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';

// Leases of open turns. An open turn locks its context, so the server seals a turn that nobody writes to any more. The
// turn is sealed as interrupted, with every acknowledged byte. Losing a connection alone seals nothing: the writer may
// come back.

export interface LeaseOptions {
  readonly leaseMs: number;
  /** Called with errors that no client waits for. */
  readonly failed: (error: unknown) => void;
  readonly now?: () => number;
}

export class OpenTurnLeases {
  readonly #engine: Engine;
  readonly #options: LeaseOptions;
  readonly #now: () => number;
  readonly #writtenAt = new Map<TurnId, number>();
  readonly #stopListening: () => void;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> = Promise.resolve();

  constructor(engine: Engine, options: LeaseOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#now = options.now ?? performance.now.bind(performance);
    this.#stopListening = engine.subscribe((change) => this.#note(change));
    const everyMs = Math.max(10, Math.min(30_000, options.leaseMs / 4));
    this.#timer = setInterval(() => void this.sealIdle(), everyMs).unref();
    this.#looking = this.#findOpen().catch(options.failed);
  }

  /** Resolves when no seal is in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopListening();
    await this.#looking;
  }

  /** Seals the turns that have waited for longer than the lease. */
  sealIdle(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#sealIdle());
    return this.#looking;
  }

  /** Finds the turns that were open before the server listened. */
  async #findOpen(): Promise<void> {
    const { open } = await this.#engine.tips();
    for (const turn of open) {
      if (!this.#writtenAt.has(turn)) this.#writtenAt.set(turn, this.#now());
    }
  }

  #note(change: Change): void {
    for (const { id } of change.opened) this.#writtenAt.set(id, this.#now());
    for (const { turn } of change.deltas) this.#writtenAt.set(turn, this.#now());
    for (const { id } of change.sealed) this.#writtenAt.delete(id);
  }

  async #sealIdle(): Promise<void> {
    const idleSince = this.#now() - this.#options.leaseMs;
    for (const [turn, writtenAt] of this.#writtenAt) {
      if (writtenAt > idleSince) continue;
      try {
        await this.#seal(turn);
      } catch (error) {
        // If a client wrote to the turn at the last moment, the turn is not idle. After other errors the seal is tried
        // again.
        if (!isQuipuError(error, 'HEAD_MOVED')) this.#options.failed(error);
      }
    }
  }

  async #seal(turn: TurnId): Promise<void> {
    const row = await this.#engine.getTurn(turn);
    if (row === undefined || !isOpen(row)) {
      this.#writtenAt.delete(turn);
      return;
    }
    const seal = { turn, outcome: 'interrupted', expectedBytes: row.size } as const;
    await this.#engine.commit({ seals: [seal] });
  }
}
