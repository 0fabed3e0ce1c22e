import type { TurnId } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import type { CheckedRead } from '../check-input.ts';
import { toTurns, type ReadPage } from './loaded-page.ts';
import type { Turn } from '../turn.ts';

/** The number of records held at a time; payloads are held in groups of `maxBytes`. */
export const PAGE_TURNS = 256;

/** Yields the turns from depth `from` to `tip`, older first, a page in memory at a time. */
export async function* walkChain(
  readPage: ReadPage,
  tip: TurnRow,
  read: CheckedRead,
  { from, beforePage }: { from: number; beforePage?: (depth: number) => void },
): AsyncGenerator<Turn, void, undefined> {
  for (let depth = from; depth <= tip.depth;) {
    beforePage?.(depth);
    const to = Math.min(depth + PAGE_TURNS, tip.depth + 1);
    const page = await readPage({ kind: 'chain', tip: tip.id, from: depth, to }, read);
    yield* toTurns(page.turns, page.unshared);
    depth = page.nextDepth ?? to;
  }
}

/** Returns the ids after depth `from` up to `tip`, older first. */
export async function listIds(engine: Engine, tip: TurnRow, from: number): Promise<TurnId[]> {
  const ids: TurnId[] = [];
  let next = tip.id;
  for (let left = tip.depth - from; left > 0; left -= PAGE_TURNS) {
    const rows = await engine.walkBack(next, Math.min(left, PAGE_TURNS));
    for (const row of rows) {
      ids.push(row.id);
      next = row.parent;
    }
  }
  return ids.toReversed();
}
