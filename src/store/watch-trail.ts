import type { ContextId } from '../base/brand.ts';
import type { Change } from '../engine/batch.ts';
import type { ContextRow } from '../engine/rows.ts';

/** Contexts remembered for a busy reader. With more, the reader is told that it missed some. */
const NOTED_MAX = 10_000;

/** Facts that cannot be read back later: the contexts that were changed or removed since the last look. */
export interface Noted {
  readonly changed: ReadonlySet<ContextId>;
  readonly removed: ReadonlySet<ContextId>;
  /** True when there were too many, or when changes were not heard. */
  readonly missed: boolean;
}

export class WatchTrail {
  #changed = new Set<ContextId>();
  #removed = new Set<ContextId>();
  #missed = false;
  /** Contexts reported as created before their change was heard, with the details that were reported. */
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

  /** Notes a context that was read, and so may be reported, before its change arrives from another server. */
  noteCreated(row: ContextRow): void {
    if (this.#ahead.size < NOTED_MAX) this.#ahead.set(row.id, said(row));
  }

  /** True when a change of this context is the one that was reported with its creation. Asked once for each context. */
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
