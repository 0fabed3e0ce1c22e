import { NO_TURN } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import type { TurnRow } from '../../engine/rows.ts';
import type { ModelState } from './model-state.ts';

/** Walks parent by parent: every faster way must give this answer. */
export function walkBack(state: ModelState, from: TurnId, limit: number): TurnRow[] {
  const rows: TurnRow[] = [];
  for (
    let row: TurnRow | undefined = state.mustGetTurn(from);
    row !== undefined && rows.length < limit;
    row = row.parent === NO_TURN ? undefined : state.mustGetTurn(row.parent)
  ) {
    rows.push(row);
  }
  return rows;
}

export function ancestorAt(state: ModelState, turn: TurnId, depth: number): TurnRow | undefined {
  return chainOf(state, turn).find((row) => row.depth === depth);
}

export function commonAncestor(state: ModelState, a: TurnId, b: TurnId): TurnRow | undefined {
  const ids = new Set(chainOf(state, a).map((row) => row.id));
  return chainOf(state, b).find((row) => ids.has(row.id));
}

function chainOf(state: ModelState, turn: TurnId): TurnRow[] {
  return state.getTurn(turn) !== undefined ? walkBack(state, turn, Infinity) : [];
}
