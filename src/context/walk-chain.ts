import type { TurnId } from '../base/brand.ts';
import type { Engine } from '../engine/engine.ts';
import type { TurnRow } from '../engine/rows.ts';
import type { CheckedRead } from './check-input.ts';
import { keepOldest } from './cut-page.ts';
import { loadTurns, viewTurns, walkDepths } from './read-turns.ts';
import type { Turn } from './turn.ts';

/** Records held at a time; payloads are held in groups of `maxBytes`. */
const PAGE_TURNS = 256;

/** The turns from depth `from` to `tip`, older first, a page in memory at a time. */
export async function* walkChain(
  engine: Engine,
  tip: TurnRow,
  from: number,
  read: CheckedRead,
): AsyncGenerator<Turn, void, undefined> {
  for (let depth = from; depth <= tip.depth; depth += PAGE_TURNS) {
    const end = Math.min(depth + PAGE_TURNS - 1, tip.depth);
    const rows = await walkDepths(engine, tip.id, depth, end);
    let views = await viewTurns(engine, rows, read.as);
    while (views.length > 0) {
      const group = read.payload ? keepOldest(views, read.maxBytes) : views;
      yield* await loadTurns(engine, group, read.payload);
      views = views.slice(group.length);
    }
  }
}

/** The ids after depth `from` up to `tip`, older first. */
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
