import { stepTowards } from '../../../format/turn-record.ts';
import type { StoredTurn } from '../../plan/draft.ts';
import type { TurnRow } from '../../rows.ts';

// Ways up a chain of turns: one by one, or by jumps.

/** Gets a turn that must exist, because another turn names it. Turns in memory cost no wait. */
type MustGet = (id: number) => StoredTurn | Promise<StoredTurn>;

/** The turn and its ancestors, the nearest first, at most `limit` rows. */
export async function chainBack(
  from: StoredTurn,
  limit: number,
  mustGet: MustGet,
): Promise<TurnRow[]> {
  const rows: TurnRow[] = [];
  for (let turn = from; rows.length < limit;) {
    rows.push(turn.row);
    if (turn.row.depth === 0 || rows.length === limit) break;
    const parent = mustGet(Number(turn.row.parent));
    turn = parent instanceof Promise ? await parent : parent;
  }
  return rows;
}

/** The ancestor at `depth`, which is at most the turn's own, in at most 2·log2(n) record reads. */
export async function ancestorOf(
  from: StoredTurn,
  depth: number,
  mustGet: MustGet,
): Promise<StoredTurn> {
  let turn = from;
  while (turn.row.depth > depth) {
    const next = mustGet(pointerTowards(turn, depth));
    turn = next instanceof Promise ? await next : next;
  }
  return turn;
}

function pointerTowards({ row, jump, sideJump }: StoredTurn, depth: number): number {
  const step = stepTowards(row.depth, depth);
  if (step === 'parent') return Number(row.parent);
  return step === 'jump' ? jump : sideJump;
}

/** The deepest turn on both chains. Turns of one depth jump to one depth, so both sides stay level. */
export async function commonAncestorOf(
  a: StoredTurn,
  b: StoredTurn,
  mustGet: MustGet,
): Promise<StoredTurn | undefined> {
  const depth = Math.min(a.row.depth, b.row.depth);
  let left = await ancestorOf(a, depth, mustGet);
  let right = await ancestorOf(b, depth, mustGet);
  while (left.row.id !== right.row.id) {
    if (left.row.depth === 0) return undefined;
    const apart = left.jump !== right.jump;
    const nextLeft = apart ? left.jump : Number(left.row.parent);
    const nextRight = apart ? right.jump : Number(right.row.parent);
    left = await mustGet(nextLeft);
    right = await mustGet(nextRight);
  }
  return left;
}
