import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Change } from '../../engine/batch.ts';
import type { HeadRow } from '../../engine/rows.ts';

/** The number of jumps remembered for a reader that is far behind; beyond that the oldest are forgotten. */
const JUMPS_MAX = 10_000;

/**
 * The way of one context's head while its reader was busy. A head that only grew is one entry, since its turns are
 * found by walking back; each jump to another branch adds one. Turns of a context become its head in the order of their
 * ids.
 */
export class HeadTrail {
  readonly #context: ContextId;
  #heads: TurnId[] = [];
  #newest: TurnId = NO_TURN;
  #newestDepth = 0;
  #opened: TurnId = NO_TURN;
  #removed = false;
  #missed = false;

  constructor(context: ContextId) {
    this.#context = context;
  }

  get removed(): boolean {
    return this.#removed;
  }

  /** The depth of the newest head that was heard of. */
  get newestDepth(): number {
    return this.#newestDepth;
  }

  /** Returns true when there is something new for the reader. */
  note(change: Change): boolean {
    let moved = false;
    for (const row of [...change.turns, ...change.sealed]) {
      // A repeated idempotency key or seal names turns that were heads before.
      if (row.context !== this.#context || row.id <= this.#newest) continue;
      if (row.parent === this.#heads.at(-1)) this.#heads.pop();
      this.#heads.push(row.id);
      if (this.#heads.length > JUMPS_MAX) this.#heads.shift();
      this.#newest = row.id;
      this.#newestDepth = row.depth;
      moved = true;
    }
    for (const row of change.opened) {
      if (row.context !== this.#context) continue;
      this.#opened = row.id;
      moved = true;
    }
    if (change.removedContexts.includes(this.#context)) this.#removed = true;
    return moved || this.#removed;
  }

  /** Changes went by unheard: the current state of the context must be read. */
  noteMissed(): void {
    this.#missed = true;
  }

  /** Returns true once after changes were missed. */
  takeMissed(): boolean {
    const missed = this.#missed;
    this.#missed = false;
    return missed;
  }

  /** Notes the result of a read; undefined for a context that is not there any more. */
  noteFound(found: HeadRow | undefined): void {
    if (found === undefined) {
      this.#removed = true;
      return;
    }
    if (found.openTurn !== NO_TURN) this.#opened = found.openTurn;
    if (found.head <= this.#newest) return;
    this.#heads.push(found.head);
    this.#newest = found.head;
    this.#newestDepth = found.headDepth;
  }

  /** Returns the next head to go to; undefined when the reader is up to date. */
  takeHead(): TurnId | undefined {
    return this.#heads.shift();
  }

  /** Returns the turn opened last, once; then `NO_TURN`. */
  takeOpened(): TurnId {
    const opened = this.#opened;
    this.#opened = NO_TURN;
    return opened;
  }
}
