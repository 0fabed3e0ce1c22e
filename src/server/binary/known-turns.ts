import type { ContextId, TurnId } from '../../base/brand.ts';

interface KnownTurn {
  readonly context: ContextId;
  /** The length of the turn once everything that was sent for it is stored. */
  length: number;
}

/** Far above the number of turns that one client streams at a time. */
const TURNS_MAX = 256;

/** The open turns that one connection has written to. The context of each is looked up only once. */
export class KnownTurns {
  readonly #turns = new Map<TurnId, KnownTurn>();

  get(turn: TurnId): KnownTurn | undefined {
    return this.#turns.get(turn);
  }

  add(turn: TurnId, context: ContextId, length: number): void {
    if (this.#turns.size >= TURNS_MAX) this.#turns.clear();
    this.#turns.set(turn, { context, length });
  }

  delete(turn: TurnId): void {
    this.#turns.delete(turn);
  }
}
