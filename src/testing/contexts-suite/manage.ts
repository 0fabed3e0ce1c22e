import { describe, expect, it } from 'vitest';
import { toContextId, toTurnId } from '../../base/brand.ts';
import type { Context } from '../../context/context.ts';
import type { Contexts, ListOptions } from '../../context/contexts.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { collect, openStore, openWith, payloadsOf } from './fixture.ts';
import { eachPage } from '../../base/pages.ts';

const NO_CONTEXT = toContextId(99);

export function manageSuite(target: ContextsTarget): void {
  describe('managing contexts', () => {
    it('creates an empty one with what is said about it', async () => {
      const { contexts } = await openStore(target);
      const plain = await contexts.create();
      expect(plain).toMatchObject({ id: 1n, head: 0n, headDepth: 0, base: 0n, labels: [] });
      const details = { title: 'fix it', kind: 'agent', labels: ['a', 'b'], meta: { n: [1] } };
      const full = await contexts.create(details);
      expect(full).toMatchObject({ id: 2n, ...details });
      expect((await contexts.get(full.id))?.toJSON()).toEqual(full.toJSON());
      expect(JSON.parse(JSON.stringify(full))).toMatchObject({ id: '2', head: '0', ...details });
      expect(await contexts.get(NO_CONTEXT)).toBeUndefined();
    });

    it('gives the heads of many at once', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b');
      const [gone, fork] = [await contexts.create(), await contexts.fork(present(ids[0]))];
      await contexts.remove(gone.id);
      const { id: openTurn } = await contexts.open(fork.id, { type: 't' });
      const heads = await contexts.heads([fork.id, NO_CONTEXT, id, gone.id, id]);
      expect(heads).toMatchObject([
        { id, head: ids[1], headDepth: 1, openTurn: 0n },
        { id: fork.id, head: ids[0], headDepth: 0, base: ids[0], openTurn },
      ]);
      expect(JSON.parse(JSON.stringify(heads))).toMatchObject([{ id: '1' }, { id: '3' }]);
      expect(await contexts.heads([])).toEqual([]);
      const many = Array.from({ length: 1100 }, (_, n) => n + 1);
      expect((await contexts.heads(many)).map((head) => head.id)).toEqual([id, fork.id]);
      await failure(contexts.heads(1n as never), 'INVALID');
      await failure(contexts.heads(Array.from({ length: 10_001 }, () => id)), 'INVALID');
      await failure(contexts.heads(['x']), 'INVALID');
    });

    it('forks at any turn and copies nothing', async () => {
      const { store, contexts, ids } = await openWith(target, 'a', 'b', 'c');
      const second = present(ids[1]);
      const before = await store.maintain.stats();
      const fork = await contexts.fork(second, { title: 'branch' });
      expect(fork).toMatchObject({ head: second, base: second, headDepth: 1, title: 'branch' });
      expect(await store.maintain.stats()).toMatchObject({
        turns: before.turns,
        blobs: before.blobs,
        contexts: before.contexts + 1,
      });
      await contexts.append(fork.id, { type: 'test.note', payload: 'd' });
      expect(payloadsOf((await contexts.last(fork.id, 9)).turns)).toEqual(['a', 'b', 'd']);
      expect(await contexts.create({ base: second })).toMatchObject({ head: second, base: second });
      expect((await failure(contexts.fork(toTurnId(99)), 'NOT_FOUND')).data).toEqual({
        what: 'turn',
        id: '99',
      });
    });

    it('forks once for a key, however often it is sent', async () => {
      const { contexts, ids } = await openWith(target, 'a', 'b');
      const options = { title: 'branch', idempotencyKey: 'job-7' };
      const first = await contexts.fork(present(ids[1]), options);
      const again = await contexts.fork(present(ids[1]), options);
      expect(again).toMatchObject({ id: first.id, title: 'branch' });
      expect((await contexts.fork(present(ids[0]), options)).id).not.toBe(first.id);
      await failure(
        contexts.fork(present(ids[1]), { idempotencyKey: 'job-7' }),
        'IDEMPOTENCY_CONFLICT',
      );
      await failure(contexts.fork(present(ids[1]), { idempotencyKey: '' }), 'INVALID');
      const made = await contexts.create({ idempotencyKey: 'new' });
      expect((await contexts.create({ idempotencyKey: 'new' })).id).toBe(made.id);
    });

    it('removes a context and leaves its turns to the forks', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b');
      const fork = await contexts.fork(present(ids[1]));
      await contexts.remove(id);
      expect(await contexts.get(id)).toBeUndefined();
      await failure(contexts.last(id, 1), 'NOT_FOUND');
      await failure(contexts.append(id, { type: 't', payload: 1 }), 'NOT_FOUND');
      await failure(contexts.remove(id), 'NOT_FOUND');
      expect(payloadsOf((await contexts.last(fork.id, 9)).turns)).toEqual(['a', 'b']);
      expect((await contexts.create()).id).toBe(3n);
    });

    async function listAll(contexts: Contexts, options: ListOptions): Promise<Context[]> {
      const pages = await collect(eachPage((after) => contexts.list({ ...options, ...after })));
      return pages.flatMap(({ items }) => items);
    }

    it('lists by recency, label and kind, in pages', async () => {
      const { contexts } = await openStore(target);
      for (let n = 0; n < 7; n += 1) {
        await contexts.create({ kind: n % 2 === 0 ? 'even' : 'odd', labels: [`mod3-${n % 3}`] });
      }
      const listed = async (options: ListOptions): Promise<string> => {
        const ids = (await listAll(contexts, options)).map(({ id }) => Number(id));
        return ids.toSorted((a, b) => a - b).join(' ');
      };
      expect(await listed({ limit: 2 })).toBe('1 2 3 4 5 6 7');
      expect(await listed({ limit: 1, kind: 'odd' })).toBe('2 4 6');
      expect(await listed({ label: 'mod3-0' })).toBe('1 4 7');
      expect(await listAll(contexts, { label: 'mod3-0', kind: 'other' })).toEqual([]);
      const page = await contexts.list({ limit: 3 });
      expect(page.items.length).toBe(3);
      const times = page.items.map(({ updatedAt }) => updatedAt);
      expect(times).toEqual(times.toSorted((a, b) => b - a));
    });

    it('changes the fields given and removes those that are null', async () => {
      const { contexts } = await openStore(target);
      const { id } = await contexts.create({ title: 'a', labels: ['x'], meta: { n: 1 } });
      expect(await contexts.update(id, { title: 'b', kind: 'k' })).toMatchObject({
        title: 'b',
        kind: 'k',
        labels: ['x'],
        meta: { n: 1 },
      });
      const bare = await contexts.update(id, { title: null, labels: null, meta: null });
      expect(bare.toJSON()).not.toHaveProperty('title');
      expect(bare).toMatchObject({ labels: [], kind: 'k' });
      expect((await contexts.get(id))?.toJSON()).toEqual(bare.toJSON());
      expect((await contexts.list({ label: 'x' })).items).toEqual([]);
      await failure(contexts.update(NO_CONTEXT, { title: 'a' }), 'NOT_FOUND');
    });

    it('loses no field to an update made at the same time', async () => {
      const { contexts } = await openStore(target);
      const { id } = await contexts.create();
      await Promise.all([
        contexts.update(id, { title: 'a' }),
        contexts.update(id, { kind: 'k' }),
        contexts.update(id, { labels: ['x'] }),
      ]);
      expect(await contexts.get(id)).toMatchObject({ title: 'a', kind: 'k', labels: ['x'] });
    });
  });
}
