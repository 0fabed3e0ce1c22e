import { describe, expect, it } from 'vitest';

import { NO_TURN } from '../../base/brand.ts';
import { describeWhen } from './describe-when.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendAll,
  createContext,
  failure,
  openEngine,
  openTurn,
  patchTurn,
  reopenEngine,
  sealTurn,
} from './fixture.ts';

export function tipsSuite(target: EngineTarget): void {
  describe('tips', () => {
    it('are zero in a new store', async () => {
      const engine = await openEngine(target);
      expect(await engine.tips()).toEqual({ turn: NO_TURN, context: 0n, patch: 0, open: [] });
    });

    it('name the newest turn, context and patch, and the turns that are open', async () => {
      const engine = await openEngine(target);
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

    it('do not go back when a context is removed or a batch is refused', async () => {
      const engine = await openEngine(target);
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['a', 'b']);
      const before = await engine.tips();
      const expectedHead = NO_TURN;
      await failure(append(engine, id, 'c', { expectedHead }), 'HEAD_MOVED');
      await engine.commit({ contexts: [{ do: 'remove', context: id }] });
      expect(await engine.tips()).toEqual(before);
    });

    it('find a patch by its number', async () => {
      const engine = await openEngine(target);
      const { id } = await createContext(engine);
      const turn = await append(engine, id, 'a');
      const patch = await patchTurn(engine, turn.id, 'b');
      expect(await engine.getPatch(patch.seq)).toEqual(patch);
      for (const missing of [0, -1, 1.5, patch.seq + 1, Number.MAX_SAFE_INTEGER]) {
        expect(await engine.getPatch(missing)).toBeUndefined();
      }
    });

    describeWhen(target.capabilities.reopen, 'after opening again', () => {
      it('are the same, and nothing is open', async () => {
        const engine = await openEngine(target);
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
