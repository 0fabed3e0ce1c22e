import { NO_TURN, type ContextId, type TurnId } from '../../base/brand.ts';
import type { Change } from '../../engine/batch.ts';
import type { HeadRow } from '../../engine/rows.ts';

/** The number of jumps remembered for a reader that is far behind; beyond that the oldest are forgotten. */
const JUMPS_MAX = 10_000;

/** Stands for "look where the head is": it was moved without a new turn, or changes went by unheard. */
export const LOOK = 'look';

/**
 * The way of one context's head while its reader was busy. A head that only grew is one entry, since its turns are
 * found by walking back; each jump to another branch adds one. Turns of a context become its head in the order of their
 * ids. A head that is moved without a new turn has no such order, and changes may be heard late: so the reader looks.
 */
export class HeadTrail {
  readonly #context: ContextId;
  #steps: (TurnId | typeof LOOK)[] = [];
  #newest: TurnId = NO_TURN;
  #newestDepth = 0;
  #opened: TurnId = NO_TURN;
  #removed = false;

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
    // A batch moves heads before it appends turns.
    if (change.moves?.includes(this.#context) === true) {
      this.noteMissed();
      moved = true;
    }
    for (const row of [...change.turns, ...change.sealed]) {
      // A repeated idempotency key or seal names turns that were heads before.
      if (row.context !== this.#context || row.id <= this.#newest) continue;
      if (row.parent === this.#steps.at(-1)) this.#steps.pop();
      this.#steps.push(row.id);
      if (this.#steps.length > JUMPS_MAX) this.#steps.shift();
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

  /** The current state of the context must be read. */
  noteMissed(): void {
    if (this.#steps.at(-1) !== LOOK) this.#steps.push(LOOK);
  }

  /** Begins a look at the context: it shows all that was heard so far. */
  beginLook(): void {
    this.#steps = [];
  }

  /** Notes the result of a look; undefined for a context that is not there any more. */
  endLook(found: HeadRow | undefined): void {
    if (found === undefined) {
      this.#removed = true;
      return;
    }
    // Turns that were heard of meanwhile are in the result, too.
    this.#steps = this.#steps.filter((step) => step === LOOK || step > found.head);
    if (found.openTurn !== NO_TURN) this.#opened = found.openTurn;
    if (found.head <= this.#newest) return;
    this.#newest = found.head;
    this.#newestDepth = found.headDepth;
  }

  /** Returns the next head to go to, or `LOOK`; undefined when the reader is up to date. */
  take(): TurnId | typeof LOOK | undefined {
    return this.#steps.shift();
  }

  /** Returns the turn opened last, once; then `NO_TURN`. */
  takeOpened(): TurnId {
    const opened = this.#opened;
    this.#opened = NO_TURN;
    return opened;
  }
}
