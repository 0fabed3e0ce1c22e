import type { ContextId } from '../base/brand.ts';
import type { Change } from '../engine/batch.ts';
import type { ContextRow } from '../engine/rows.ts';

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
  /** Told as created, and the change that did it is not yet heard: what was told of each. */
  readonly #ahead: Map<ContextId, string> = new Map();

  note(change: Change): void {
    for (const { id } of change.contexts) this.#changed.add(id);
    for (const id of change.removedContexts) {
      this.#changed.delete(id);
      this.#removed.add(id);
    }
    if (this.#changed.size + this.#removed.size <= NOTED_MAX) return;
    this.noteMissed();
  }

  /** A context was read, and so may be told, before its change comes by from another server. */
  noteCreated(row: ContextRow): void {
    if (this.#ahead.size < NOTED_MAX) this.#ahead.set(row.id, said(row));
  }

  /** Whether a change of this context is the one that was told with its creation. Asked once for each. */
  isTold(id: ContextId, row: ContextRow | undefined): boolean {
    const told = this.#ahead.get(id);
    this.#ahead.delete(id);
    return told !== undefined && row !== undefined && told === said(row);
  }

  noteMissed(): void {
    this.#ahead.clear();
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

function said({ meta }: ContextRow): string {
  return JSON.stringify(meta);
}
