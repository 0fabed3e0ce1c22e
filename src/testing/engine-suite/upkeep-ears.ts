import { describe, expect } from 'vitest';

import { NO_TURN, toTurnId } from '../../base/brand.ts';
import type { ContextId } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  blobOf,
  createContext,
  openEngine,
  openTurn,
  patchTurn,
  sealTurn,
  engineCases,
} from './fixture.ts';
import { Ears, held, inOne, orphanTurns, put, sweep } from './upkeep-fixture.ts';

export function earsSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('what a collection hears', () => {
    interface Case {
      readonly what: string;
      readonly act: (engine: Engine, id: ContextId) => Promise<unknown>;
      readonly blobs: readonly string[];
      readonly turns: readonly number[];
    }
    const about = { type: 'test.note', version: 1, encoding: 3 };
    const cases: Case[] = [
      { what: 'a put', act: (engine) => put(engine, 'a'), blobs: ['a'], turns: [] },
      {
        what: 'a put from a stream',
        act: (engine) => engine.putBlob({ chunks: inOne(blobOf('a').bytes) }),
        blobs: ['a'],
        turns: [],
      },
      {
        what: 'an append to an old turn',
        act: (engine, context) =>
          engine.commit({
            turns: [{ context, parent: toTurnId(2), ...about, payload: blobOf('a').hash, size: 1 }],
          }),
        blobs: ['a'],
        turns: [2],
      },
      {
        what: 'a fork',
        act: (engine) => createContext(engine, { base: toTurnId(2) }),
        blobs: [],
        turns: [2],
      },
      {
        what: 'an open turn',
        act: (engine, context) => openTurn(engine, context, toTurnId(2)),
        blobs: [],
        turns: [2],
      },
      {
        what: 'a patch',
        act: (engine) => patchTurn(engine, toTurnId(2), 'a'),
        blobs: ['a'],
        turns: [2],
      },
    ];

    it.each(cases)('hears what $what relies on', async ({ act, blobs, turns }) => {
      const engine = await openEngine(target);
      const id = await orphanTurns(engine, 'a', 'b', 'c');
      const ears = new Ears();
      const collection = await ears.start(engine, 0);
      await act(engine, id);
      expect([...ears.turns]).toEqual(expect.arrayContaining(turns.map((turn) => toTurnId(turn))));
      const hashes = blobs.map((text) => blobOf(text).hash);
      expect([...ears.blobs]).toEqual(expect.arrayContaining(hashes));
      expect(ears.turns.has(NO_TURN)).toBe(false);
      await sweep(collection, ears);
      expect(await held(engine, ...blobs)).toEqual(blobs);
      for (const turn of turns) expect(await engine.getTurn(toTurnId(turn))).toBeDefined();
      expect(await engine.getTurn(toTurnId(3))).toBeUndefined();
    });

    it('leaves a turn alone that is sealed while it runs', async ({ engine }) => {
      const { id } = await createContext(engine);
      await append(engine, id, 'a');
      const open = await openTurn(engine, id);
      const ears = new Ears();
      const collection = await ears.start(engine, 0);
      await sealTurn(engine, open.id, 'sealed');
      await sweep(collection, ears, { blobs: ['a'], turns: [toTurnId(1), open.id] });
      expect(await engine.getTurn(open.id)).toMatchObject({ id: open.id });
      expect(await held(engine, 'a', 'sealed')).toEqual(['a', 'sealed']);
    });

    it('asks again right before a blob goes', async ({ engine }) => {
      const id = await orphanTurns(engine, 'a', 'b');
      const ears = new Ears();
      const collection = await ears.start(engine, 0);
      let sent: Promise<'appended' | 'refused'> | undefined;
      const send = (): Promise<'appended' | 'refused'> =>
        append(engine, id, 'a', { parent: toTurnId(1) }).then(
          () => 'appended',
          () => 'refused',
        );
      await collection.sweep({
        isLive: (hash) => {
          sent ??= send();
          return ears.blobs.has(hash);
        },
        isLiveTurn: (turn) => turn >= collection.firstNewTurn || ears.turns.has(turn),
        deadShare: 0,
      });
      await collection.end();
      const outcome = await sent;
      // Either the commit came first and kept its parent, or the parent was gone and the commit was refused.
      const parent = await engine.getTurn(toTurnId(1));
      expect(parent === undefined ? 'refused' : 'appended').toBe(outcome);
      if (outcome === 'appended') expect(await held(engine, 'a')).toEqual(['a']);
    });
  });
}
