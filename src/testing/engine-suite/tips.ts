import { describe, expect } from 'vitest';

import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import type { Found } from '../../engine/engine.ts';
import { describeWhen } from './describe-when.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendAll,
  createContext,
  failure,
  openTurn,
  patchTurn,
  reopenEngine,
  sealTurn,
  engineCases,
} from './fixture.ts';

const NOTHING: Found = { contexts: [], heads: [], turns: [], patches: [] };

export function tipsSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('tips', () => {
    it('are zero in a new store', async ({ engine }) => {
      expect(await engine.tips()).toEqual({ turn: NO_TURN, context: 0n, patch: 0, open: [] });
    });

    it('name the newest turn, context and patch, and the turns that are open', async ({
      engine,
    }) => {
      const one = await createContext(engine);
      const two = await createContext(engine);
      const turn = await append(engine, one.id, 'a');
      const first = await openTurn(engine, one.id);
      const second = await openTurn(engine, two.id);
      const open = [first.id, second.id];
      expect(await engine.tips()).toEqual({ turn: second.id, context: two.id, patch: 0, open });

      await patchTurn(engine, turn.id, 'b');
      const patch = await patchTurn(engine, turn.id, 'c');
      await sealTurn(engine, first.id, '');
      const now = { turn: second.id, context: two.id, patch: patch.seq, open: [second.id] };
      expect(await engine.tips()).toEqual(now);
    });

    it('do not go back when a context is removed or a batch is refused', async ({ engine }) => {
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['a', 'b']);
      const before = await engine.tips();
      const expectedHead = NO_TURN;
      await failure(append(engine, id, 'c', { expectedHead }), 'HEAD_MOVED');
      await engine.commit({ contexts: [{ do: 'remove', context: id }] });
      expect(await engine.tips()).toEqual(before);
    });

    it('find a patch by its number', async ({ engine }) => {
      const { id } = await createContext(engine);
      const turn = await append(engine, id, 'a');
      const patch = await patchTurn(engine, turn.id, 'b');
      expect((await engine.getMany({ patches: [patch.seq] })).patches).toEqual([patch]);
      for (const missing of [0, patch.seq + 1, Number.MAX_SAFE_INTEGER]) {
        expect(await engine.getMany({ patches: [missing] })).toEqual(NOTHING);
      }
    });

    it('lead to records of all kinds at once, in the order of their numbers', async ({
      engine,
    }) => {
      const [one, two, gone] = [
        await createContext(engine, { meta: { title: 'one' } }),
        await createContext(engine),
        await createContext(engine),
      ];
      const [a, b] = [await append(engine, one.id, 'a'), await append(engine, two.id, 'b')];
      const open = await openTurn(engine, two.id);
      const patch = await patchTurn(engine, a.id, 'c');
      await engine.commit({ contexts: [{ do: 'remove', context: gone.id }] });
      const found = await engine.getMany({
        contexts: [one.id, two.id, gone.id, toContextId(99)],
        heads: [two.id, gone.id, toContextId(99)],
        turns: [a.id, b.id, open.id, toTurnId(99)],
        patches: [patch.seq, 99],
      });
      expect(found.contexts).toEqual([
        await engine.getContext(one.id),
        await engine.getContext(two.id),
      ]);
      expect(found.heads).toEqual([await engine.getHead(two.id)]);
      expect(found.turns).toEqual([a, b, await engine.getTurn(open.id)]);
      expect(found.patches).toEqual([patch]);
      expect(await engine.getMany({ turns: [b.id] })).toEqual({ ...NOTHING, turns: [b] });
      expect(await engine.getMany({})).toEqual(NOTHING);
    });

    it('lead to any number of records', async ({ engine }) => {
      const { id } = await createContext(engine);
      const texts = Array.from({ length: 1100 }, (_, nth) => String(nth % 7));
      const rows = await appendAll(engine, id, texts);
      expect((await engine.getMany({ turns: rows.map((row) => row.id) })).turns).toEqual(rows);
    });

    describeWhen(target.capabilities.reopen, 'after opening again', () => {
      it('lead to turns that lie apart', async ({ engine }) => {
        const { id } = await createContext(engine);
        const texts = Array.from({ length: 600 }, (_, nth) => String(nth));
        const rows = await appendAll(engine, id, texts);
        const again = await reopenEngine(target, engine);
        const some = rows.filter((_, nth) => nth % 9 < 2 || nth === 300 || nth > 590);
        const ids = some.map((row) => row.id);
        expect((await again.getMany({ turns: [...ids, toTurnId(9999)] })).turns).toEqual(some);
      });

      it('lead to turns of a list that does not rise, since a client may send one', async ({
        engine,
      }) => {
        const { id } = await createContext(engine);
        const rows = await appendAll(engine, id, ['a', 'b', 'c', 'd']);
        const again = await reopenEngine(target, engine);
        const ids = [3, 0, 2, 2].map((nth) => rows[nth]?.id ?? NO_TURN);
        const { turns } = await again.getMany({ turns: ids });
        expect(new Set(turns.map((turn) => turn.id))).toEqual(new Set(ids));
      });

      it('are the same, and nothing is open', async ({ engine }) => {
        const { id } = await createContext(engine);
        const turn = await append(engine, id, 'a');
        await patchTurn(engine, turn.id, 'b');
        await openTurn(engine, id);
        const before = await engine.tips();
        const again = await reopenEngine(target, engine);
        expect(await again.tips()).toEqual({ ...before, open: [] });
      });
    });
  });
}
