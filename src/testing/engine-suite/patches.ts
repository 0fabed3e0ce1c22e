import { describe, expect } from 'vitest';

import { toTurnId } from '../../base/brand.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  appendAll,
  blobOf,
  createContext,
  failure,
  openEngine,
  openTurn,
  patchTurn,
  present,
  engineCases,
} from './fixture.ts';
import { toComparable } from './read-all.ts';

export function patchSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('patches', () => {
    it('numbers patches over the whole store and leaves the turn as it was', async () => {
      const engine = await openEngine(target, { clock: () => 7000 });
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['a', 'b']);
      const [first, second] = [toTurnId(1), toTurnId(2)];
      const before = present(await engine.getTurn(first));
      const one = await patchTurn(engine, first, 'a, better');
      const two = await patchTurn(engine, second, 'spam', { tombstone: true });
      const three = await patchTurn(engine, first, 'a, best');
      expect(one).toEqual({
        seq: 1,
        turn: first,
        tombstone: false,
        encoding: 3,
        payload: blobOf('a, better').hash,
        size: 9,
        createdAt: 7000,
      });
      expect(two).toMatchObject({ seq: 2, turn: second, tombstone: true });
      expect(await engine.getPatches([first])).toEqual([one, three]);
      expect(await engine.getPatches([second, first, second])).toEqual([one, two, three]);
      expect(await engine.getPatches([])).toEqual([]);
      expect(await engine.getPatches([toTurnId(99)])).toEqual([]);
      expect(toComparable(present(await engine.getTurn(first)))).toEqual(toComparable(before));
      expect(await engine.getHead(id)).toMatchObject({ head: second });
    });

    it('patches only when the newest patch is the expected one', async ({ engine }) => {
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['a', 'b']);
      const [a, b] = [toTurnId(1), toTurnId(2)];
      await patchTurn(engine, a, 'other');
      await patchTurn(engine, b, 'first', { expectedSeq: 0 });
      await patchTurn(engine, b, 'second', { expectedSeq: 2 });
      const error = await failure(patchTurn(engine, b, 'third', { expectedSeq: 2 }), 'HEAD_MOVED');
      expect(error.data).toMatchObject({ expected: '2', head: '3' });
      await failure(patchTurn(engine, b, 'third', { expectedSeq: 0 }), 'HEAD_MOVED');
      expect(await engine.getPatches([a, b])).toHaveLength(3);
    });

    it('refuses turns that are open or missing, and missing payloads', async ({ engine }) => {
      const { id } = await createContext(engine);
      const open = await openTurn(engine, id);
      await failure(patchTurn(engine, open.id, 'x'), 'INVALID');
      const missing = await failure(patchTurn(engine, toTurnId(9), 'x'), 'NOT_FOUND');
      expect(missing.data).toEqual({ what: 'turn', id: '9' });
      const other = await createContext(engine);
      const [turn] = await appendAll(engine, other.id, ['a']);
      const { hash } = blobOf('never put');
      const patch = {
        turn: present(turn).id,
        tombstone: false,
        encoding: 3,
        payload: hash,
        size: 9,
      };
      const noBlob = await failure(engine.commit({ patches: [patch] }), 'NOT_FOUND');
      expect(noBlob.data).toEqual({ what: 'blob', id: hash });
      expect(await engine.getPatches([open.id, present(turn).id])).toEqual([]);
    });
  });
}
