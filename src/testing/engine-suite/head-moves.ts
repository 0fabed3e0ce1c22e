import { describe, expect, it } from 'vitest';

import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ContextRow } from '../../engine/rows.ts';
import { PATIENCE } from '../patience.ts';
import { describeWhen } from './describe-when.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendAll,
  appendBatch,
  createContext,
  failure,
  listen,
  only,
  openEngine,
  openTurn,
  reopenEngine,
} from './fixture.ts';
import { readAll, toHead } from './read-all.ts';

async function move(
  engine: Engine,
  context: ContextId,
  head: number,
  expectedHead?: TurnId,
): Promise<ContextRow> {
  const expected = expectedHead === undefined ? {} : { expectedHead };
  const change = { do: 'move', context, head: toTurnId(head, true), ...expected } as const;
  return only((await engine.commit({ contexts: [change] })).contexts);
}

/** Turns 1 to 4 of one context, and turn 5 of a fork at turn 2. */
async function start(target: EngineTarget): Promise<{ engine: Engine; id: ContextId }> {
  const engine = await openEngine(target);
  const { id } = await createContext(engine, { meta: { title: 'x' } });
  await appendAll(engine, id, ['a', 'b', 'c', 'd']);
  const fork = await createContext(engine, { base: toTurnId(2) });
  await append(engine, fork.id, 'e');
  return { engine, id };
}

export function headMoveSuite(target: EngineTarget): void {
  describe('heads that move without a turn', () => {
    it('go back, forward, to another branch and to nothing', async () => {
      const { engine, id } = await start(target);
      const before = await engine.getHead(id);
      for (const [head, headDepth] of [
        [2, 1],
        [4, 3],
        [5, 2],
        [0, 0],
        [1, 0],
      ] as const) {
        const row = await move(engine, id, head);
        expect(row).toMatchObject({ head: BigInt(head), headDepth, meta: { title: 'x' } });
        expect(await engine.getContext(id)).toEqual(row);
      }
      expect(await engine.getHead(id)).toMatchObject({ updatedAt: before?.updatedAt });
      expect(await append(engine, id, 'f')).toMatchObject({ id: 6n, parent: 1n, depth: 1 });
      expect(await engine.getHead(id)).toMatchObject({ head: 6n, headDepth: 1 });
      await move(engine, id, 4);
      expect(await append(engine, id, 'g')).toMatchObject({ parent: 4n, depth: 4 });
    });

    it('may be moved in the batch that appends', async () => {
      const { engine, id } = await start(target);
      const batch = appendBatch(id, 'f');
      const head = toTurnId(1);
      const { turns } = await engine.commit({
        ...batch,
        contexts: [{ do: 'move', context: id, head }],
      });
      expect(only(turns)).toMatchObject({ parent: 1n });
      expect(await engine.getHead(id)).toMatchObject({ head: only(turns).id });
    });

    it('change nothing when they are there already', async () => {
      const { engine, id } = await start(target);
      const before = await readAll(engine);
      const heard = listen(engine);
      expect(await move(engine, id, 4)).toMatchObject({ head: 4n });
      expect(await readAll(engine)).toEqual(before);
      expect(heard).toEqual([]);
    });

    it('move only from where the caller thinks they are', async () => {
      const { engine, id } = await start(target);
      const before = await readAll(engine);
      const error = await failure(move(engine, id, 1, toTurnId(3)), 'HEAD_MOVED');
      expect(error.data).toEqual({ context: String(id), expected: '3', head: '4' });
      await failure(move(engine, id, 1, NO_TURN), 'HEAD_MOVED');
      expect(await readAll(engine)).toEqual(before);
      await move(engine, id, 0, toTurnId(4));
      expect(await move(engine, id, 4, NO_TURN)).toMatchObject({ head: 4n });
    });

    it('move only to what is there and sealed, and not while a turn is open', async () => {
      const { engine, id } = await start(target);
      await failure(move(engine, id, 99), 'NOT_FOUND');
      await failure(move(engine, toContextId(9), 1), 'NOT_FOUND');
      const open = await openTurn(engine, toContextId(2));
      await failure(move(engine, id, Number(open.id)), 'NOT_FOUND');
      const locked = await failure(move(engine, toContextId(2), 1), 'LOCKED');
      expect(locked.data).toEqual({ what: 'context', owner: String(open.id) });
      expect(await engine.getHead(id)).toMatchObject({ head: 4n });
    });

    it('are told to listeners as moves', async () => {
      const { engine, id } = await start(target);
      const heard = listen(engine);
      await move(engine, id, 2);
      await append(engine, id, 'f');
      await expect.poll(() => heard.length, PATIENCE).toBe(2);
      const [moved, appended] = heard;
      expect(moved).toMatchObject({ moves: [id], turns: [], contexts: [{ id, head: 2n }] });
      expect(moved?.heads.map(toHead)).toMatchObject([{ id, head: 2n }]);
      expect(appended).not.toHaveProperty('moves');
      expect(appended).toMatchObject({ turns: [{ parent: 2n }] });
    });

    it('leave room for a new root: a turn with parent 0', async () => {
      const { engine, id } = await start(target);
      const root = await append(engine, id, 'other', { parent: NO_TURN });
      expect(root).toMatchObject({ id: 6n, parent: NO_TURN, depth: 0, context: id });
      expect(await append(engine, id, 'next')).toMatchObject({ parent: 6n, depth: 1 });
      expect(await engine.commonAncestor(toTurnId(4), toTurnId(7))).toBeUndefined();
      expect((await engine.walkBack(toTurnId(7), 9)).map((row) => row.id)).toEqual([7n, 6n]);
      const idempotency = { context: id, key: 'k' };
      const keyed = { ...appendBatch(id, 'keyed', { parent: NO_TURN }), idempotency };
      const first = await engine.commit(keyed);
      expect(await engine.commit(keyed)).toMatchObject({ replayed: true, turns: first.turns });
      await failure(
        engine.commit({ ...appendBatch(id, 'keyed'), idempotency }),
        'IDEMPOTENCY_CONFLICT',
      );
    });

    async function moveAround(engine: Engine, id: ContextId): Promise<void> {
      await move(engine, id, 2);
      await move(engine, toContextId(2), 0);
      const third = await createContext(engine, { base: toTurnId(4) });
      await move(engine, third.id, 1);
      const fourth = await createContext(engine);
      await append(engine, fourth.id, 'own');
      await move(engine, fourth.id, 3);
      await append(engine, fourth.id, 'after the move');
      const gone = await createContext(engine, { base: toTurnId(1) });
      await move(engine, gone.id, 0);
      await engine.commit({ contexts: [{ do: 'remove', context: gone.id }] });
    }

    describeWhen(target.capabilities.reopen, 'after opening again', () => {
      it('are where they were', async () => {
        const { engine, id } = await start(target);
        await moveAround(engine, id);
        const before = await readAll(engine);
        const again = await reopenEngine(target, engine);
        expect(await readAll(again)).toEqual(before);
        expect((await again.upkeep.check({ repair: false })).problems).toEqual([]);
        expect(await append(again, id, 'f')).toMatchObject({ parent: 2n });
      });
    });

    describeWhen(target.capabilities.reindex, 'after the index was made again', () => {
      it('are where they were', async () => {
        const { engine, id } = await start(target);
        await moveAround(engine, id);
        const before = await readAll(engine);
        await engine.reindex();
        expect(await readAll(engine)).toEqual(before);
        expect((await engine.upkeep.check({ repair: false })).problems).toEqual([]);
      });
    });
  });
}
