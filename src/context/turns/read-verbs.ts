import { toContextId, toTurnId, type TurnId } from '../../base/brand.ts';
import { checkWhole } from '../../base/check-value.ts';
import { jsonable } from '../../base/jsonable.ts';
import { checkDepths, checkRead, type CheckedRead } from '../check-input.ts';
import type { Engine } from '../../engine/engine.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { PAGE_TURNS, toTurnPage, walkChain, type ContextsParts } from './loaded-page.ts';
import type { Contexts } from '../contexts.ts';
import { LIST_LIMIT_DEFAULT, PAGE_TURNS_MAX, STREAM_BYTES_DEFAULT } from '../limits.ts';
import { mustGetSealed, readTurn } from './read-turns.ts';
import type { Turn } from '../turn.ts';

type ReadVerbs = Pick<Contexts, 'last' | 'before' | 'range' | 'chain' | 'turn' | 'diff'>;

export function readVerbs({ engine, readPage }: ContextsParts): ReadVerbs {
  async function* walkTo(id: TurnId, read: CheckedRead): AsyncGenerator<Turn, void, undefined> {
    yield* walkChain(readPage, await mustGetSealed(engine, id), read, { from: 0 });
  }

  return {
    async last(id, n = LIST_LIMIT_DEFAULT, options = {}) {
      const context = toContextId(id);
      checkWhole(n, 'n', 0, PAGE_TURNS_MAX);
      return toTurnPage(await readPage({ kind: 'last', context, n }, checkRead(options)));
    },

    async before(id, turn, n = LIST_LIMIT_DEFAULT, options = {}) {
      const page = { context: toContextId(id), turn: toTurnId(turn), n };
      checkWhole(n, 'n', 0, PAGE_TURNS_MAX);
      return toTurnPage(await readPage({ kind: 'before', ...page }, checkRead(options)));
    },

    async range(id, fromDepth, toDepth, options = {}) {
      const page = { context: toContextId(id), from: fromDepth, to: toDepth };
      checkDepths(fromDepth, toDepth);
      return toTurnPage(await readPage({ kind: 'range', ...page }, checkRead(options)));
    },

    chain(turn, options = {}) {
      return walkTo(toTurnId(turn), checkRead(options, STREAM_BYTES_DEFAULT));
    },

    async turn(turn, options = {}) {
      return readTurn(engine, toTurnId(turn), checkRead(options));
    },

    async diff(a, b) {
      const left = await mustGetSealed(engine, toTurnId(a));
      const right = await mustGetSealed(engine, toTurnId(b));
      const base = await engine.commonAncestor(left.id, right.id);
      const depth = base?.depth ?? -1;
      return jsonable({
        ...(base !== undefined && { base: base.id }),
        left: await listIds(engine, left, depth),
        right: await listIds(engine, right, depth),
      });
    },
  };
}

/** Returns the ids after depth `from` up to `tip`, older first. */
async function listIds(engine: Engine, tip: TurnRow, from: number): Promise<TurnId[]> {
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
