import fc from 'fast-check';
import { describe, expect } from 'vitest';

import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendAll,
  blobOf,
  createContext,
  failure,
  present,
  turnOf,
  engineCases,
} from './fixture.ts';
import { walkNaively } from './read-all.ts';

export function turnSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('turns', () => {
    it('counts ids from 1 without gaps, and depth from the root', async ({ engine }) => {
      const { id } = await createContext(engine);
      const turns = [...(await appendAll(engine, id, ['a', 'b'])), await append(engine, id, 'c')];
      expect(turns.map((turn) => [turn.id, turn.parent, turn.depth])).toEqual([
        [1n, NO_TURN, 0],
        [2n, 1n, 1],
        [3n, 2n, 2],
      ]);
      expect(await engine.getHead(id)).toMatchObject({ head: 3n, headDepth: 2 });
      for (const turn of turns) expect(await engine.getTurn(turn.id)).toEqual(turn);
      expect(await engine.getTurn(toTurnId(4))).toBeUndefined();
    });

    it('keeps what was said of a turn, unknown encodings too', async ({ engine }) => {
      const { id } = await createContext(engine);
      const about = { type: 'agent.plan/ünï', version: 4_000_000_000, encoding: 77 };
      const row = await append(engine, id, 'content', about);
      const { hash: payload } = blobOf('content');
      expect(await engine.getTurn(row.id)).toMatchObject({
        ...about,
        context: id,
        payload,
        size: 7,
        flags: 0,
      });
    });

    it('takes a payload that is stored already', async ({ engine }) => {
      const { id } = await createContext(engine);
      const { blob, turn } = turnOf(id, 'stored before');
      await engine.commit({ blobs: [blob] });
      await engine.commit({ turns: [turn, turn] });
      expect(await engine.getHead(id)).toMatchObject({ head: 2n });
    });

    it('rewinds to a parent that the caller names', async ({ engine }) => {
      const { id } = await createContext(engine);
      const [first] = await appendAll(engine, id, ['a', 'b', 'c']);
      const row = await append(engine, id, 'd', { parent: present(first).id });
      expect(row).toMatchObject({ id: 4n, parent: 1n, depth: 1, flags: TurnFlag.PARENT_GIVEN });
      expect(await engine.getHead(id)).toMatchObject({ head: 4n, headDepth: 1 });
      expect(await append(engine, id, 'e')).toMatchObject({ parent: 4n, depth: 2, flags: 0 });
    });

    it('takes a parent from another context', async ({ engine }) => {
      const [a, b] = [await createContext(engine), await createContext(engine)];
      const row = await append(engine, a.id, 'in a');
      const child = await append(engine, b.id, 'in b', { parent: row.id });
      expect(child).toMatchObject({ parent: row.id, context: b.id, depth: 1 });
      expect(await engine.getHead(a.id)).toMatchObject({ head: row.id });
    });

    it('appends only where the caller thinks the head is', async ({ engine }) => {
      const { id } = await createContext(engine);
      const first = await append(engine, id, 'a', { expectedHead: NO_TURN });
      await append(engine, id, 'b', { expectedHead: first.id });
      const error = await failure(
        append(engine, id, 'c', { expectedHead: first.id }),
        'HEAD_MOVED',
      );
      expect(error.data).toEqual({ context: '1', expected: '1', head: '2' });
      const empty = await failure(append(engine, id, 'c', { expectedHead: NO_TURN }), 'HEAD_MOVED');
      expect(empty.data).toEqual({ context: '1', expected: '0', head: '2' });
      expect(await engine.getTurn(toTurnId(3))).toBeUndefined();
    });

    it('checks each head of a batch as it is when that turn is reached', async ({ engine }) => {
      const { id } = await createContext(engine);
      const a = turnOf(id, 'a', { expectedHead: NO_TURN });
      const b = turnOf(id, 'b', { expectedHead: toTurnId(1) });
      await engine.commit({ blobs: [a.blob, b.blob], turns: [a.turn, b.turn] });
      await failure(
        engine.commit({ turns: [{ ...a.turn, expectedHead: toTurnId(2) }, b.turn] }),
        'HEAD_MOVED',
      );
      expect(await engine.getHead(id)).toMatchObject({ head: 2n });
    });

    it('says what is missing', async ({ engine }) => {
      const { id } = await createContext(engine);
      const noContext = await failure(append(engine, toContextId(9), 'a'), 'NOT_FOUND');
      expect(noContext.data).toEqual({ what: 'context', id: '9' });
      const noParent = await failure(append(engine, id, 'a', { parent: toTurnId(9) }), 'NOT_FOUND');
      expect(noParent.data).toEqual({ what: 'turn', id: '9' });
      const { turn, blob } = turnOf(id, 'never put');
      const noBlob = await failure(engine.commit({ turns: [turn] }), 'NOT_FOUND');
      expect(noBlob.data).toEqual({ what: 'blob', id: blob.hash });
      expect(await engine.getTurn(toTurnId(1))).toBeUndefined();
    });

    it('uses an id again when its batch failed, for nobody has seen it', async ({ engine }) => {
      const { id } = await createContext(engine);
      await failure(append(engine, id, 'a', { parent: toTurnId(9) }), 'NOT_FOUND');
      expect((await append(engine, id, 'b')).id).toBe(1n);
    });

    it('walks back, newest first, as far as asked', async ({ engine }) => {
      const { id } = await createContext(engine);
      const turns = await appendAll(engine, id, ['a', 'b', 'c', 'd']);
      const backwards = turns.toReversed();
      expect(await engine.walkBack(toTurnId(4), 2)).toEqual(backwards.slice(0, 2));
      expect(await engine.walkBack(toTurnId(4), 4)).toEqual(backwards);
      expect(await engine.walkBack(toTurnId(4), 100)).toEqual(backwards);
      expect(await engine.walkBack(toTurnId(2), 100)).toEqual(backwards.slice(2));
      const error = await failure(engine.walkBack(toTurnId(5), 1), 'NOT_FOUND');
      expect(error.data).toEqual({ what: 'turn', id: '5' });
    });

    it('finds no ancestor where there is none', async ({ engine }) => {
      const [a, b] = [await createContext(engine), await createContext(engine)];
      const [inA, inB] = [await append(engine, a.id, 'a'), await append(engine, b.id, 'b')];
      expect(await engine.ancestorAt(inA.id, 1)).toBeUndefined();
      expect(await engine.ancestorAt(toTurnId(9), 0)).toBeUndefined();
      expect(await engine.commonAncestor(inA.id, inB.id)).toBeUndefined();
      expect(await engine.commonAncestor(inA.id, toTurnId(9))).toBeUndefined();
      expect(await engine.commonAncestor(inA.id, inA.id)).toEqual(inA);
    });

    it('finds any ancestor of a long chain', async ({ engine }) => {
      const { id } = await createContext(engine);
      const turns = await appendAll(
        engine,
        id,
        Array.from({ length: 1000 }, (_, n) => `turn ${n}`),
      );
      for (const depth of [0, 1, 2, 499, 511, 512, 998, 999]) {
        expect(await engine.ancestorAt(toTurnId(1000), depth)).toEqual(turns[depth]);
        expect(await engine.ancestorAt(toTurnId(600), depth)).toEqual(
          depth < 600 ? turns[depth] : undefined,
        );
      }
    });

    it('agrees with a naive walk on random trees', { timeout: 60_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(
          growth,
          fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 20 }),
          async (steps, pairs) => {
            const engine = await target.open();
            try {
              const count = await growTree(engine, steps);
              for (const [a, b] of pairs)
                await compareWalks(engine, toTurnId(1 + (a % count)), toTurnId(1 + (b % count)));
            } finally {
              await engine.close();
            }
          },
        ),
        { numRuns: target.randomRuns === undefined ? 8 : 1 },
      );
    });
  });
}

/** Each step grows a branch: from which turn (modulo the number of turns), and by how many. */
const growth = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 20 })), {
  minLength: 1,
  maxLength: 8,
});

async function growTree(
  engine: Engine,
  steps: readonly (readonly [number, number])[],
): Promise<number> {
  const { id } = await createContext(engine);
  let count = 0;
  for (const [from, length] of steps) {
    const parent = count === 0 ? {} : { parent: toTurnId(1 + (from % count)) };
    const grown = Array.from({ length }, (_, n) =>
      turnOf(id, `turn ${count + n}`, n === 0 ? parent : {}),
    );
    await engine.commit({
      blobs: grown.map(({ blob }) => blob),
      turns: grown.map(({ turn }) => turn),
    });
    count += length;
  }
  return count;
}

async function compareWalks(engine: Engine, a: TurnId, b: TurnId): Promise<void> {
  const [chainA, chainB] = [await walkNaively(engine, a), await walkNaively(engine, b)];
  expect(await engine.walkBack(a, chainA.length + 1)).toEqual(chainA);
  for (const row of chainA) expect(await engine.ancestorAt(a, row.depth)).toEqual(row);
  const ids = new Set(chainA.map((row) => row.id));
  expect(await engine.commonAncestor(a, b)).toEqual(chainB.find((row) => ids.has(row.id)));
}
