import { describe, expect } from 'vitest';

import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import type { ContextId } from '../../base/brand.ts';
import type { ContextRow } from '../../engine/rows.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  createContext,
  failure,
  failures,
  only,
  openEngine,
  openTurn,
  turnOf,
  engineCases,
} from './fixture.ts';
import { listAllContexts, toHead } from './read-all.ts';

export function contextSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('contexts', () => {
    it('counts ids from 1 and starts empty', async () => {
      const engine = await openEngine(target, { clock: () => 5000 });
      const rows = [await createContext(engine), await createContext(engine)];
      expect(rows.map((row) => row.id)).toEqual([1n, 2n]);
      const empty = { head: NO_TURN, headDepth: 0, base: NO_TURN, openTurn: NO_TURN, meta: {} };
      expect(rows[0]).toEqual({ id: 1n, ...empty, createdAt: 5000, updatedAt: 5000 });
      expect(await engine.getContext(toContextId(1))).toEqual(rows[0]);
      expect(toHead(await engine.getHead(toContextId(1)))).toEqual(toHead(rows[0]));
      expect(await engine.getContext(toContextId(3))).toBeUndefined();
      expect(await engine.getHead(toContextId(3))).toBeUndefined();
    });

    it('takes turns in the batch that creates it', async ({ engine }) => {
      const [a, b] = [
        turnOf({ created: 1 }, 'for the second'),
        turnOf({ created: 0 }, 'for the first'),
      ];
      const batch = {
        contexts: [{ do: 'create' }, { do: 'create' }],
        turns: [a.turn, b.turn],
      } as const;
      const { contexts, turns } = await engine.commit({ blobs: [a.blob, b.blob], ...batch });
      expect(turns.map((turn) => turn.context)).toEqual([2n, 1n]);
      expect(contexts).toMatchObject([
        { id: 1n, head: 2n },
        { id: 2n, head: 1n },
      ]);
      expect(await engine.getHead(toContextId(1))).toMatchObject({ head: 2n });
      expect(await engine.getHead(toContextId(2))).toMatchObject({ head: 1n });
    });

    it('refuses a creation that the batch does not have', async ({ engine }) => {
      const { blob, turn } = turnOf({ created: 1 }, 'nowhere');
      await failure(
        engine.commit({ blobs: [blob], contexts: [{ do: 'create' }], turns: [turn] }),
        'INVALID',
      );
      expect(await engine.getContext(toContextId(1))).toBeUndefined();
    });

    it('starts a fork at its base', async ({ engine }) => {
      const { id } = await createContext(engine);
      await append(engine, id, 'a');
      const base = await append(engine, id, 'b');
      const fork = await createContext(engine, { base: base.id });
      expect(fork).toMatchObject({ head: base.id, headDepth: 1, base: base.id });
      const row = await append(engine, fork.id, 'c');
      expect(row).toMatchObject({ parent: base.id, depth: 2, context: fork.id });
      expect(await engine.getHead(id)).toMatchObject({ head: base.id });
      expect(await engine.getHead(fork.id)).toMatchObject({ head: row.id, base: base.id });
    });

    it('forks only what is there and sealed', async ({ engine }) => {
      const { id } = await createContext(engine);
      const missing = await failure(createContext(engine, { base: toTurnId(9) }), 'NOT_FOUND');
      expect(missing.data).toEqual({ what: 'turn', id: '9' });
      const open = await openTurn(engine, id);
      await failure(createContext(engine, { base: open.id }), 'NOT_FOUND');
      expect(await listAllContexts(engine)).toHaveLength(1);
    });

    const details = {
      title: 'Fix the parser',
      kind: 'chat',
      labels: ['a', 'b'],
      meta: { deep: [1, null, 'ü'] },
    };

    it('keeps what users say, and replaces it as a whole', async ({ engine }) => {
      const { id } = await createContext(engine, { meta: details });
      expect((await engine.getContext(id))?.meta).toEqual(details);
      const describe = { do: 'describe', context: id, meta: { title: 'Other' } } as const;
      const row = only((await engine.commit({ contexts: [describe] })).contexts);
      expect(row).toMatchObject({ id, meta: { title: 'Other' } });
      expect((await engine.getContext(id))?.meta).toEqual({ title: 'Other' });
      expect(await listAllContexts(engine, { label: 'a' })).toEqual([]);
    });

    it('leaves head and time alone when a context is described', async () => {
      let now = 1000;
      const engine = await openEngine(target, { clock: () => now });
      const { id } = await createContext(engine);
      await append(engine, id, 'a');
      const before = await engine.getHead(id);
      now = 2000;
      await engine.commit({ contexts: [{ do: 'describe', context: id, meta: details }] });
      expect(toHead(await engine.getHead(id))).toEqual(toHead(before));
    });

    it('describes only what is there', async ({ engine }) => {
      const unknown = { do: 'describe', context: toContextId(4), meta: details } as const;
      const error = await failure(engine.commit({ contexts: [unknown] }), 'NOT_FOUND');
      expect(error.data).toEqual({ what: 'context', id: '4' });
    });

    it('forgets the context and keeps its turns', async ({ engine }) => {
      const [{ id }, other] = [
        await createContext(engine, { meta: { labels: ['x'] } }),
        await createContext(engine),
      ];
      const row = await append(engine, id, 'a');
      await engine.commit({ contexts: [{ do: 'remove', context: id }] });
      expect(await engine.getContext(id)).toBeUndefined();
      expect(await engine.getHead(id)).toBeUndefined();
      expect((await listAllContexts(engine)).map((context) => context.id)).toEqual([other.id]);
      expect(await listAllContexts(engine, { label: 'x' })).toEqual([]);
      expect(await engine.getTurn(row.id)).toEqual(row);
      expect(await createContext(engine, { base: row.id })).toMatchObject({ id: 3n, head: row.id });
    });

    it('never uses an id again, and takes nothing more', async ({ engine }) => {
      const { id } = await createContext(engine);
      await engine.commit({ contexts: [{ do: 'remove', context: id }] });
      expect((await createContext(engine)).id).toBe(2n);
      const works = [
        append(engine, id, 'a'),
        openTurn(engine, id),
        engine.commit({ contexts: [{ do: 'remove', context: id }] }),
        engine.commit({ contexts: [{ do: 'describe', context: id, meta: {} }] }),
      ];
      for (const { data } of await failures(works, 'NOT_FOUND')) {
        expect(data).toEqual({ what: 'context', id: '1' });
      }
    });

    it('lists the newest activity first, then the highest id', async () => {
      let now = 1000;
      const engine = await openEngine(target, { clock: () => now });
      for (let n = 0; n < 4; n++) await createContext(engine);
      expect(idsOf(await listAllContexts(engine))).toEqual([4n, 3n, 2n, 1n]);
      now = 2000;
      await append(engine, toContextId(2), 'a');
      now = 3000;
      await append(engine, toContextId(1), 'a');
      expect(idsOf(await listAllContexts(engine))).toEqual([1n, 2n, 4n, 3n]);
    });

    it('lists by label and kind', async ({ engine }) => {
      await createContext(engine, { meta: { kind: 'chat', labels: ['red', 'blue'] } });
      await createContext(engine, { meta: { kind: 'chat', labels: ['blue'] } });
      await createContext(engine, { meta: { kind: 'run', labels: ['red'] } });
      await createContext(engine);
      expect(new Set(idsOf(await listAllContexts(engine, { label: 'red' })))).toEqual(
        new Set([1n, 3n]),
      );
      expect(new Set(idsOf(await listAllContexts(engine, { kind: 'chat' })))).toEqual(
        new Set([1n, 2n]),
      );
      expect(idsOf(await listAllContexts(engine, { label: 'red', kind: 'chat' }))).toEqual([1n]);
      expect(await listAllContexts(engine, { label: 'green' })).toEqual([]);
      expect(await listAllContexts(engine, { kind: 'Chat' })).toEqual([]);
    });

    it('gives the same rows as reading one by one', async ({ engine }) => {
      const { id } = await createContext(engine, { meta: { title: 'x' } });
      await append(engine, id, 'a');
      expect(await listAllContexts(engine)).toEqual([await engine.getContext(id)]);
    });

    it.each([1, 2, 3, 5, 7, 10])('pages by %i without gap or repetition', async (limit) => {
      let now = 0;
      // Three contexts share each millisecond.
      const engine = await openEngine(target, { clock: () => Math.floor(now++ / 3) });
      for (let n = 0; n < 7; n++)
        await createContext(engine, { meta: n % 2 === 0 ? { labels: ['even'] } : {} });
      const first = await engine.listContexts({ limit });
      expect(first.rows).toHaveLength(Math.min(limit, 7));
      expect(idsOf(await listAllContexts(engine, {}, limit))).toEqual([7n, 6n, 5n, 4n, 3n, 2n, 1n]);
      expect(idsOf(await listAllContexts(engine, { label: 'even' }, limit))).toEqual([
        7n,
        5n,
        3n,
        1n,
      ]);
    });

    it.each([
      ['in its own millisecond', () => 1],
      ['in the millisecond of the newest', (made: number) => (made < 6 ? 1 : 0)],
    ])('shows a context that moves while someone pages, %s', async (_, step) => {
      let [now, made] = [1000, 0];
      const engine = await openEngine(target, { clock: () => (now += step(made)) });
      for (; made < 6; made++) await createContext(engine);
      const seen: ContextId[] = [];
      let page = await engine.listContexts({ limit: 2 });
      seen.push(...idsOf(page.rows));
      for (const id of [1, 3]) await append(engine, toContextId(id), 'moves to the top');
      for (let pages = 1; page.cursor !== undefined && pages < 10; pages++) {
        page = await engine.listContexts({ limit: 2, cursor: page.cursor });
        seen.push(...idsOf(page.rows));
      }
      expect(new Set(seen)).toEqual(new Set([1n, 2n, 3n, 4n, 5n, 6n]));
    });

    it('refuses a cursor that no page gave', async ({ engine }) => {
      await failure(engine.listContexts({ limit: 1, cursor: 'nonsense' }), 'INVALID');
    });
  });
}

function idsOf(rows: readonly ContextRow[]): ContextId[] {
  return rows.map((row) => row.id);
}
