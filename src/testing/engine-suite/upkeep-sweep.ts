import { describe, expect } from 'vitest';

import { toTurnId } from '../../base/brand.ts';
import type { Hash } from '../../base/brand.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendAll,
  blobOf,
  createContext,
  failure,
  openEngine,
  patchTurn,
  engineCases,
} from './fixture.ts';
import { Aging, Ears, flatten, held, orphanTurns, put, sweep } from './upkeep-fixture.ts';

export function sweepSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('sweeping', () => {
    it('removes what is old and dead, and nothing else', async () => {
      const aging = new Aging();
      const engine = await openEngine(target, aging);
      await put(engine, 'a', 'b', 'c', 'd');
      await aging.pass(engine);
      const before = await engine.stats();
      const ears = new Ears();
      const report = await sweep(await ears.start(engine), ears, { blobs: ['b', 'd'] });
      expect(report).toMatchObject({ removedBlobs: 2, keptDeadBytes: 0, skippedForSpace: 0 });
      expect(report.freedBytes).toBeGreaterThan(0);
      expect(await held(engine, 'a', 'b', 'c', 'd')).toEqual(['b', 'd']);
      expect(await engine.stats()).toMatchObject({ blobs: before.blobs - 2 });
      await put(engine, 'a');
      expect(await held(engine, 'a', 'b', 'c', 'd')).toEqual(['a', 'b', 'd']);
    });

    it('takes dead turns away, keeps their ids, and leaves the rest readable', async () => {
      const aging = new Aging();
      const engine = await openEngine(target, aging);
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['a', 'b', 'c']);
      const side = await append(engine, id, 'd', { parent: toTurnId(1) });
      await aging.pass(engine);
      const ears = new Ears();
      const turns = [toTurnId(1), side.id];
      await sweep(await ears.start(engine), ears, { blobs: ['a', 'd'], turns });
      expect(await engine.getTurn(toTurnId(2))).toBeUndefined();
      expect(await engine.getTurn(toTurnId(3))).toBeUndefined();
      await failure(engine.walkBack(toTurnId(3), 9), 'NOT_FOUND');
      expect(await engine.ancestorAt(toTurnId(3), 0)).toBeUndefined();
      expect(await engine.commonAncestor(toTurnId(3), side.id)).toBeUndefined();
      const gone = await failure(createContext(engine, { base: toTurnId(3) }), 'NOT_FOUND');
      expect(gone.data).toEqual({ what: 'turn', id: '3' });
      await failure(append(engine, id, 'e', { parent: toTurnId(2) }), 'NOT_FOUND');
      await failure(patchTurn(engine, toTurnId(2), 'e'), 'NOT_FOUND');
      expect((await engine.walkBack(side.id, 9)).map((row) => row.id)).toEqual([4n, 1n]);
      expect((await append(engine, id, 'f')).id).toBe(5n);
      const collection = await ears.start(engine);
      expect((await flatten(collection.turns())).map((edge) => edge.id)).toEqual([5n, 4n, 1n]);
      await collection.end();
    });

    it('forgets the keys of turns that are gone', async () => {
      const aging = new Aging();
      const engine = await openEngine(target, aging);
      const { id } = await createContext(engine);
      const root = await append(engine, id, 'root');
      const blob = blobOf('keyed');
      const about = { type: 'test.note', version: 1, encoding: 3 };
      const turn = { context: id, ...about, payload: blob.hash, size: blob.bytes.length };
      const keyed = { idempotency: { context: id, key: 'k' }, blobs: [blob], turns: [turn] };
      await engine.commit(keyed);
      await append(engine, id, 'other', { parent: root.id });
      await aging.pass(engine);
      const ears = new Ears();
      const alive = { blobs: ['root', 'other'], turns: [root.id, toTurnId(3)] };
      await sweep(await ears.start(engine), ears, alive);
      const again = await engine.commit(keyed);
      expect(again).toMatchObject({ replayed: false, turns: [{ id: 4n }] });
      expect(await engine.commit(keyed)).toMatchObject({ replayed: true, turns: [{ id: 4n }] });
    });

    it('survives a checkpoint and, where it can, a reopening', async () => {
      const aging = new Aging();
      const engine = await openEngine(target, aging);
      await orphanTurns(engine, 'a', 'b');
      await createContext(engine, { base: toTurnId(1) });
      await aging.pass(engine);
      const ears = new Ears();
      await sweep(await ears.start(engine), ears, { blobs: ['a'], turns: [toTurnId(1)] });
      await engine.checkpoint();
      await engine.reindex();
      expect(await held(engine, 'a', 'b')).toEqual(['a']);
      expect(await engine.getTurn(toTurnId(2))).toBeUndefined();
      if (target.reopen === undefined || target.capabilities.reopen !== true) return;
      await engine.close();
      const again = await target.reopen(engine, aging);
      expect(await held(again, 'a', 'b')).toEqual(['a']);
      expect(await again.getTurn(toTurnId(2))).toBeUndefined();
      await again.close();
    });

    it('leaves everything as it was when it ends without a sweep', async () => {
      const aging = new Aging();
      const engine = await openEngine(target, aging);
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['a', 'b']);
      await aging.pass(engine);
      await (await new Ears().start(engine)).end();
      expect(await held(engine, 'a', 'b')).toEqual(['a', 'b']);
      expect(await engine.walkBack(toTurnId(2), 9)).toHaveLength(2);
    });

    it('spares what is young', async () => {
      const aging = new Aging();
      const engine = await openEngine(target, aging);
      await put(engine, 'old');
      await aging.pass(engine);
      await put(engine, 'young');
      const ears = new Ears();
      const collection = await ears.start(engine);
      const ages = (await flatten(collection.blobs())).map(({ hash, old }) => [hash, old]);
      expect(new Map(ages as [Hash, boolean][])).toEqual(
        new Map([
          [blobOf('old').hash, true],
          [blobOf('young').hash, false],
        ]),
      );
      expect(await sweep(collection, ears)).toMatchObject({ removedBlobs: 1 });
      expect(await held(engine, 'old', 'young')).toEqual(['young']);
    });

    it('spares nothing that was there when the grace period is none', async ({ engine }) => {
      await put(engine, 'a', 'b');
      const ears = new Ears();
      await sweep(await ears.start(engine, 0), ears, { blobs: ['b'] });
      expect(await held(engine, 'a', 'b')).toEqual(['b']);
    });

    it('never takes what was put after it began', async ({ engine }) => {
      await put(engine, 'a');
      const ears = new Ears();
      const collection = await ears.start(engine, 0);
      await put(engine, 'new');
      await sweep(collection, ears);
      expect(await held(engine, 'a', 'new')).toEqual(['new']);
    });
  });
}
