import { describe, expect, it } from 'vitest';
import { toContextId } from '../../base/brand.ts';
import type { Contexts } from '../../context/contexts.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { iterate, openStore, openWith, settle, take } from './fixture.ts';

export function namesSuite(target: ContextsTarget): void {
  describe('naming contexts', () => {
    it('gets the context of a name, and makes it only once', async () => {
      const { contexts } = await openStore(target);
      const made = await contexts.getOrCreate('customers/4711', { title: 'first', labels: ['a'] });
      expect(made).toMatchObject({ id: 1n, name: 'customers/4711', title: 'first', labels: ['a'] });
      await contexts.append(made.id, { type: 't', payload: 'x' });
      const again = await contexts.getOrCreate('customers/4711', { title: 'second' });
      expect(again).toMatchObject({ id: 1n, head: 1n, title: 'first' });
      expect((await contexts.byName('customers/4711'))?.toJSON()).toEqual(again.toJSON());
      expect(JSON.parse(JSON.stringify(again))).toMatchObject({ id: '1', name: 'customers/4711' });
      expect(await contexts.byName('customers')).toBeUndefined();
    });

    it('gives one context to all who ask at the same time', async () => {
      const { contexts } = await openStore(target);
      const asked = Array.from({ length: 30 }, (_, n) => contexts.getOrCreate(`name ${n % 3}`));
      const ids = (await Promise.all(asked)).map(({ id }) => id);
      expect(new Set(ids).size).toBe(3);
      for (const [n, id] of ids.entries()) expect(id).toBe(ids[n % 3]);
    });

    it('begins at a turn when told, and takes names for forks', async () => {
      const { contexts, ids } = await openWith(target, 'a', 'b');
      const base = present(ids[0]);
      expect(await contexts.getOrCreate('branch', { base })).toMatchObject({ head: base, base });
      expect(await contexts.fork(base, { name: 'fork' })).toMatchObject({ name: 'fork', base });
      const error = await failure(contexts.fork(base, { name: 'branch' }), 'EXISTS');
      expect(error.data).toEqual({ what: 'context', id: '2' });
      const options = { name: 'keyed', idempotencyKey: 'k' };
      const keyed = await contexts.create(options);
      expect((await contexts.create(options)).id).toBe(keyed.id);
      await failure(contexts.create({ name: 'keyed' }), 'EXISTS');
    });

    it('lists those whose names begin alike, and tells watchers of names', async () => {
      const store = await openStore(target);
      const { contexts } = store;
      const events = iterate((signal) => store.watch({}, { signal }));
      await take(events, 1);
      for (const name of ['a/1', 'a/2', 'b/1']) await contexts.create({ name });
      const told = await take(events, 3);
      expect(told.map((event) => 'context' in event && event.context.name)).toEqual([
        'a/1',
        'a/2',
        'b/1',
      ]);
      await contexts.rename(toContextId(3), 'a/3');
      expect(await take(events, 1)).toMatchObject([
        { kind: 'context.updated', context: { name: 'a/3' } },
      ]);
      const namesOf = async (namePrefix: string): Promise<unknown[]> =>
        (await contexts.list({ namePrefix })).items
          .map(({ name = '' }) => name)
          .toSorted((a, b) => (a < b ? -1 : 1));
      expect(await namesOf('a/')).toEqual(['a/1', 'a/2', 'a/3']);
      expect(await namesOf('b/')).toEqual([]);
      expect(await namesOf('')).toHaveLength(3);
    });

    it('renames, and frees the old name', async () => {
      const { contexts } = await openStore(target);
      const { id } = await contexts.create({ name: 'a', title: 'kept' });
      expect(await contexts.rename(id, 'b')).toMatchObject({ id, name: 'b', title: 'kept' });
      expect(await contexts.byName('a')).toBeUndefined();
      const other = await contexts.getOrCreate('a');
      expect(other.id).not.toBe(id);
      await failure(contexts.rename(other.id, 'b'), 'EXISTS');
      const bare = await contexts.rename(id, null);
      expect(bare.toJSON()).not.toHaveProperty('name');
      expect((await contexts.rename(other.id, 'b')).name).toBe('b');
      await failure(contexts.rename(toContextId(99), 'c'), 'NOT_FOUND');
    });

    it('keeps the name through updates, and frees it with the context', async () => {
      const { contexts } = await openStore(target);
      const { id } = await contexts.create({ name: 'a', title: 'x' });
      expect(await contexts.update(id, { title: null, kind: 'k' })).toMatchObject({ name: 'a' });
      await contexts.remove(id);
      expect(await contexts.byName('a')).toBeUndefined();
      expect((await contexts.getOrCreate('a')).id).not.toBe(id);
    });

    const BAD: [string, unknown][] = [
      ['an empty one', ''],
      ['more than 512 bytes', 'ü'.repeat(257)],
      ['half a character', 'a\uD800'],
      ['a number', 7],
      ['nothing', undefined],
    ];

    it.each(BAD)('refuses %s, and changes nothing', async (_, bad) => {
      const { contexts } = await openStore(target);
      const { id } = await contexts.create({ name: 'a' });
      const name = bad as string;
      const calls: ((all: Contexts) => unknown)[] = [
        (all) => all.getOrCreate(name),
        (all) => all.byName(name),
        (all) => all.rename(id, name),
        ...(bad === undefined ? [] : [(all: Contexts) => all.create({ name })]),
      ];
      for (const call of calls)
        await failure(
          settle(() => call(contexts)),
          'INVALID',
        );
      expect(await contexts.get(id)).toMatchObject({ name: 'a' });
      expect((await contexts.list()).items).toHaveLength(1);
    });

    it('takes every text of 1 to 512 bytes', async () => {
      const { contexts } = await openStore(target);
      for (const name of ['.', '..', '/', '\u0000', '%2e', '"', 'ü'.repeat(256), '😀', 'a\nb']) {
        const { id } = await contexts.getOrCreate(name);
        expect(await contexts.byName(name)).toMatchObject({ id, name });
      }
    });
  });
}
