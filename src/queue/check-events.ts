import { setImmediate } from 'node:timers/promises';
import { sumOf } from './event-line.ts';
import type { IdRange } from './scan.ts';
import type { EventTable, StoredEvent } from './sqlite/event-table.ts';

/** The damage found in the events of a queue. */
export interface EventDamage {
  /** Events whose content differs from what was pushed. */
  readonly damaged: readonly number[];
  /** Events that are absent and not recorded as lost. */
  readonly missing: readonly IdRange[];
}

/** Reading this many events takes about 40 ms. */
const STRETCH = 20_000;

/** Reads every event, and yields the thread between stretches. */
export async function checkEvents(table: EventTable): Promise<EventDamage> {
  const checker = new Checker(table);
  while (checker.step()) await setImmediate();
  return checker;
}

/** Like `checkEvents`, but synchronous, for a caller that holds the write lock. */
export function checkEventsNow(table: EventTable): EventDamage {
  const checker = new Checker(table);
  while (checker.step());
  return checker;
}

class Checker implements EventDamage {
  readonly damaged: number[] = [];
  readonly missing: IdRange[] = [];
  readonly #table: EventTable;
  readonly #newest: number;
  readonly #losses: IdRange[];
  #after = 0;
  /**
   * Another program inserted the events at the end that have no checksum. A later event of ours would have sealed them.
   */
  #unsealed: number[] = [];

  constructor(table: EventTable) {
    this.#table = table;
    this.#newest = table.newestId();
    this.#losses = table.losses();
  }

  /** Returns false when nothing is left to check. */
  step(): boolean {
    if (this.#after >= this.#newest) return false;
    const through = Math.min(this.#newest, this.#after + STRETCH);
    let last = this.#after;
    for (const row of this.#table.stored({ after: this.#after, through })) {
      this.#passOver(last, row.id - 1);
      this.#look(row);
      last = row.id;
    }
    this.#passOver(last, through);
    this.#after = through;
    return true;
  }

  #look({ sum, ...event }: StoredEvent): void {
    if (sum === null) return void this.#unsealed.push(event.id);
    this.damaged.push(...this.#unsealed);
    this.#unsealed = [];
    if (sum !== sumOf(event)) this.damaged.push(event.id);
  }

  /** The table has no row after `after` up to `through`. */
  #passOver(after: number, through: number): void {
    let from = after;
    for (const loss of this.#losses) {
      if (loss.through <= from || loss.after >= through) continue;
      if (loss.after > from) this.#miss(from, loss.after);
      from = Math.max(from, loss.through);
    }
    if (from < through) this.#miss(from, through);
  }

  #miss(after: number, through: number): void {
    const before = this.missing.at(-1);
    if (before?.through === after) this.missing[this.missing.length - 1] = { ...before, through };
    else this.missing.push({ after, through });
  }
}
