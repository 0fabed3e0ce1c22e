import type { ContextId } from '../base/brand.ts';
import type { Change } from '../engine/batch.ts';

/** Contexts remembered for a reader that is busy; beyond that it is told that it missed some. */
const NOTED_MAX = 10_000;

/** What cannot be read back later: which contexts were changed or removed since the last look. */
export interface Noted {
  readonly changed: ReadonlySet<ContextId>;
  readonly removed: ReadonlySet<ContextId>;
  /** There were too many, or they were not heard. */
  readonly missed: boolean;
}

export class WatchTrail {
  #changed = new Set<ContextId>();
  #removed = new Set<ContextId>();
  #missed = false;

  note(change: Change): void {
    for (const { id } of change.contexts) this.#changed.add(id);
    for (const id of change.removedContexts) {
      this.#changed.delete(id);
      this.#removed.add(id);
    }
    if (this.#changed.size + this.#removed.size <= NOTED_MAX) return;
    this.noteMissed();
  }

  noteMissed(): void {
    this.#changed.clear();
    this.#removed.clear();
    this.#missed = true;
  }

  take(): Noted {
    const noted = { changed: this.#changed, removed: this.#removed, missed: this.#missed };
    this.#changed = new Set();
    this.#removed = new Set();
    this.#missed = false;
    return noted;
  }
}
