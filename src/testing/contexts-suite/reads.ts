import { describe, expect, it } from 'vitest';
import { toContextId, toTurnId } from '../../base/brand.ts';
import { failure, failures, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { collect, expectIds, openStore, openWith, payloadsOf } from './fixture.ts';

/** Each payload takes ten bytes as JSON. */
const LETTERS = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => letter.repeat(8));

export function readsSuite(target: ContextsTarget): void {
  describe('reading', () => {
    it('reads an empty context as nothing', async () => {
      const { contexts, id } = await openWith(target);
      const nothing = { turns: [], headDepth: 0 };
      expect(await contexts.last(id, 10)).toEqual(nothing);
      expect(await contexts.range(id, 0, 10)).toEqual(nothing);
    });

    it('says what is not there', async () => {
      const { contexts, id, ids } = await openWith(target, 'a');
      const [none, noTurn] = [toContextId(99), toTurnId(99)];
      const works = [
        contexts.last(none, 1),
        contexts.range(none, 0, 1),
        contexts.before(none, present(ids[0]), 1),
        contexts.before(id, noTurn, 1),
        contexts.diff(noTurn, present(ids[0])),
        contexts.diff(present(ids[0]), noTurn),
        contexts.patches(noTurn),
        collect(contexts.chain(noTurn)),
        collect(contexts.follow(none)),
        collect(contexts.follow(id, { after: noTurn })),
        collect(contexts.followOpen(noTurn)),
      ];
      await failures(works, 'NOT_FOUND');
      expect(await contexts.turn(noTurn)).toBeUndefined();
    });

    it('reads fifty turns unless it is told how many', async () => {
      const letters = Array.from({ length: 52 }, (_, n) => String(n));
      const { contexts, id, ids } = await openWith(target, ...letters);
      expectIds((await contexts.last(id)).turns, ids.slice(2));
      expectIds((await contexts.before(id, present(ids[51]))).turns, ids.slice(1, 51));
    });

    it('pages back from the head with a cursor', async () => {
      const { contexts, id, ids } = await openWith(target, ...LETTERS);
      const first = await contexts.last(id, 4);
      expectIds(first.turns, ids.slice(2));
      expect(first).toMatchObject({ cursor: ids[2], headDepth: 5 });
      const second = await contexts.before(id, present(first.cursor), 4);
      expectIds(second.turns, ids.slice(0, 2));
      expect(second.cursor).toBeUndefined();
      expect((await contexts.before(id, present(ids[0]), 4)).turns).toEqual([]);
      expect(await contexts.last(id, 0)).toEqual({ turns: [], headDepth: 5 });
    });

    it('reads before a turn of an abandoned branch, and not of a strange one', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      await contexts.append(id, { type: 't', payload: 'x' }, { parent: present(ids[0]) });
      expectIds((await contexts.before(id, present(ids[2]), 9)).turns, ids.slice(0, 2));
      const fork = await contexts.fork(present(ids[1]));
      expectIds((await contexts.before(fork.id, present(ids[1]), 9)).turns, ids.slice(0, 1));
      const error = await failure(contexts.before(fork.id, present(ids[2]), 9), 'NOT_FOUND');
      expect(error.data).toEqual({ what: 'turn', id: String(ids[2]) });
    });

    it('reads a range by depth, clipped to what is there', async () => {
      const { contexts, id, ids } = await openWith(target, ...LETTERS);
      for (const [from, to] of [
        [0, 6],
        [2, 4],
        [5, 99],
        [3, 3],
        [6, 9],
        [90, 99],
      ] as const) {
        const page = await contexts.range(id, from, to);
        expectIds(page.turns, ids.slice(from, to));
        expect(page).not.toHaveProperty('nextDepth');
      }
    });

    it('leaves payloads out when asked', async () => {
      const { contexts, id, ids } = await openWith(target, ...LETTERS);
      const { turns } = await contexts.last(id, 3, { payload: false, maxBytes: 0 });
      expectIds(turns, ids.slice(3));
      expect(turns.map(({ size }) => size)).toEqual([10, 10, 10]);
      for (const turn of turns) expect([turn.payload, turn.bytes]).toEqual([undefined, undefined]);
      expect(turns[0]?.toJSON()).not.toHaveProperty('payload');
    });

    it('leaves large payloads out when asked', async () => {
      const { contexts, id } = await openWith(target, 'abc', 'abcd', 'ab');
      const sizes = (await contexts.last(id, 3)).turns.map(({ size }) => size);
      const most = present(sizes[0]);
      const { turns } = await contexts.last(id, 3, { payload: most });
      expect(turns.map(({ size }) => size)).toEqual(sizes);
      expect(payloadsOf(turns)).toEqual(['abc', undefined, 'ab']);
      const large = present(turns[1]);
      expect((await contexts.turn(large.id, { payload: most }))?.payload).toBeUndefined();
      expect((await contexts.turn(large.id, { payload: most + 1 }))?.payload).toBe('abcd');
      await failure(contexts.last(id, 3, { payload: -1 }), 'INVALID');
    });

    it('cuts a page at a turn and goes on from its cursor', async () => {
      const { contexts, id, ids } = await openWith(target, ...LETTERS);
      const limits = { maxBytes: 29 };
      const last = await contexts.last(id, 5, limits);
      expectIds(last.turns, ids.slice(4));
      const before = await contexts.before(id, present(last.cursor), 5, limits);
      expectIds(before.turns, ids.slice(2, 4));
      expect(before.cursor).toBe(ids[2]);
      const range = await contexts.range(id, 1, 6, limits);
      expectIds(range.turns, ids.slice(1, 3));
      expect(range.nextDepth).toBe(3);
      expectIds((await contexts.range(id, 3, 5, limits)).turns, ids.slice(3, 5));
    });

    it('always gives one turn', async () => {
      const { contexts, id, ids } = await openWith(target, ...LETTERS);
      expectIds((await contexts.last(id, 3, { maxBytes: 0 })).turns, ids.slice(5));
      const range = await contexts.range(id, 2, 4, { maxBytes: 1 });
      expectIds(range.turns, ids.slice(2, 3));
      expect(range.nextDepth).toBe(3);
      const chain = await collect(contexts.chain(present(ids[5]), { maxBytes: 1 }));
      expect(payloadsOf(chain)).toEqual(LETTERS);
    });

    it('streams a long chain from its root', async () => {
      const { contexts } = await openStore(target);
      const { id } = await contexts.create();
      const turns = Array.from({ length: 700 }, (_, n) => ({ type: 't', payload: n }));
      const added = await contexts.appendBatch(id, turns);
      for (const end of [699, 255, 256, 0]) {
        const chain = await collect(contexts.chain(present(added[end]).id));
        expect(payloadsOf(chain)).toEqual(turns.slice(0, end + 1).map(({ payload }) => payload));
      }
      const bare = await collect(contexts.chain(present(added[699]).id, { payload: false }));
      expect(bare.length).toBe(700);
      expectIds(
        (await contexts.last(id, 600)).turns,
        added.slice(100).map((turn) => turn.id),
      );
      const { left, right, base } = await contexts.diff(
        present(added[9]).id,
        present(added[699]).id,
      );
      expect([left, right.length, base]).toEqual([[], 690, present(added[9]).id]);
    });

    it('tells two branches apart', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      const x = await contexts.append(id, { type: 't', payload: 'x' }, { parent: present(ids[0]) });
      expect(await contexts.diff(present(ids[2]), x.id)).toEqual({
        base: ids[0],
        left: ids.slice(1),
        right: [x.id],
      });
      expect(await contexts.diff(x.id, x.id)).toEqual({ base: x.id, left: [], right: [] });
      const other = await contexts.create();
      const y = await contexts.append(other.id, { type: 't', payload: 'y' });
      expect(await contexts.diff(x.id, y.id)).toEqual({ left: [ids[0], x.id], right: [y.id] });
    });
  });
}
