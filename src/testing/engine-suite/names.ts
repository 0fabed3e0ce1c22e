import { describe, expect } from 'vitest';

import type { ContextId } from '../../base/brand.ts';
import type { Batch, Committed, ContextChange } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ContextMeta, ContextRow } from '../../engine/rows.ts';
import { describeWhen } from './describe-when.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  blobOf,
  createContext,
  failure,
  listen,
  only,
  openEngine,
  present,
  reopenEngine,
  engineCases,
} from './fixture.ts';
import { listAllContexts, readAll } from './read-all.ts';

function getNamed(name: string, meta: ContextMeta = {}): Batch {
  return { contexts: [{ do: 'create', meta: { ...meta, name }, getNamed: true }] };
}

async function rename(engine: Engine, context: ContextId, name?: string): Promise<ContextRow> {
  const change: ContextChange = { do: 'rename', context, ...(name !== undefined && { name }) };
  return only((await engine.commit({ contexts: [change] })).contexts);
}

/** Names that a careless index, file name or statement would mix up. */
const ODD_NAMES = [
  'a',
  'A',
  'a ',
  ' ',
  '..',
  'a/b',
  '0',
  "'",
  '%',
  'ключ',
  '\u0000',
  'a\u0000b',
  '😀',
];

export function nameSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('names of contexts', () => {
    it('lead to one context each, by every character', async ({ engine }) => {
      const names = [...ODD_NAMES, 'é', 'e\u0301', 'x'.repeat(512)];
      for (const name of names) await createContext(engine, { meta: { name, title: 'x' } });
      for (const [at, name] of names.entries()) {
        expect(await engine.findContext(name)).toMatchObject({
          id: BigInt(at + 1),
          meta: { name },
        });
      }
      for (const name of ['b', 'a\u0000', '', 'x'.repeat(511)]) {
        expect(await engine.findContext(name)).toBeUndefined();
      }
    });

    it('belong to one context: another one is refused, and nothing is stored', async ({
      engine,
    }) => {
      const { id } = await createContext(engine, { meta: { name: 'a' } });
      const other = await createContext(engine, { meta: { name: 'b' } });
      const before = await readAll(engine);
      const error = await failure(createContext(engine, { meta: { name: 'a' } }), 'EXISTS');
      expect(error.data).toEqual({ what: 'context', id: String(id) });
      await failure(rename(engine, other.id, 'a'), 'EXISTS');
      const twice = { do: 'create', meta: { name: 'c' } } as const;
      await failure(engine.commit({ contexts: [twice, twice] }), 'EXISTS');
      expect(await engine.findContext('c')).toBeUndefined();
      expect(await readAll(engine)).toEqual(before);
    });

    it('stay when a context is described, and are told to listeners', async ({ engine }) => {
      const heard = listen(engine);
      const { id } = await createContext(engine, { meta: { name: 'a', title: 'x' } });
      const meta = { title: 'y' };
      await engine.commit({ contexts: [{ do: 'describe', context: id, meta }] });
      expect(await engine.findContext('a')).toMatchObject({ id, meta: { name: 'a', title: 'y' } });
      await rename(engine, id, 'b');
      await expect
        .poll(() => heard.map(({ contexts }) => contexts.map((row) => row.meta.name)))
        .toEqual([['a'], ['a'], ['b']]);
    });

    it('are free again once the context is removed', async ({ engine }) => {
      const { id } = await createContext(engine, { meta: { name: 'a' } });
      await engine.commit({ contexts: [{ do: 'remove', context: id }] });
      expect(await engine.findContext('a')).toBeUndefined();
      expect((await createContext(engine, { meta: { name: 'a' } })).id).toBe(2n);
      // In one batch, too.
      const swap: ContextChange[] = [
        { do: 'remove', context: present(await engine.findContext('a')).id },
        { do: 'create', meta: { name: 'a' } },
      ];
      await engine.commit({ contexts: swap });
      expect(await engine.findContext('a')).toMatchObject({ id: 3n });
    });

    it('give the context that is there, as it is now, and store nothing', async ({ engine }) => {
      const first = await engine.commit(getNamed('a', { title: 'x' }));
      expect(first).toMatchObject({
        replayed: false,
        contexts: [{ id: 1n, meta: { title: 'x' } }],
      });
      await append(engine, only(first.contexts).id, 'more');
      const before = await readAll(engine);
      const heard = listen(engine);
      const again = await engine.commit(getNamed('a', { title: 'other', kind: 'k' }));
      expect(again).toMatchObject({
        replayed: true,
        contexts: [{ id: 1n, head: 1n, meta: { name: 'a', title: 'x' } }],
      });
      expect(await readAll(engine)).toEqual(before);
      expect(heard).toEqual([]);
    });

    it('make one context when many ask at the same time', async ({ engine }) => {
      const sent = Array.from({ length: 20 }, (_, n) =>
        engine.commit(getNamed('a', { title: `${n}` })),
      );
      const results: Committed[] = await Promise.all(sent);
      expect(results.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(results.map(({ contexts }) => only(contexts).id))).toEqual(new Set([1n]));
      expect((await engine.tips()).context).toBe(1n);
    });

    it('are asked for alone, and without a key', async ({ engine }) => {
      const [create] = getNamed('a').contexts ?? [];
      const wrong: Batch[] = [
        { contexts: [present(create), present(create)] },
        { contexts: [present(create)], blobs: [blobOf('x')] },
        { contexts: [{ do: 'create', getNamed: true }] },
        { contexts: [{ do: 'create', meta: { name: 'a' }, getNamed: true, key: 'k' }] },
      ];
      for (const batch of wrong) await failure(engine.commit(batch), 'INVALID');
      expect(await listAllContexts(engine)).toEqual([]);
    });

    it('can be given, changed and taken away', async ({ engine }) => {
      const { id } = await createContext(engine, { meta: { title: 'x' } });
      expect(await rename(engine, id, 'a')).toMatchObject({ id, meta: { name: 'a', title: 'x' } });
      expect((await rename(engine, id, 'a')).id).toBe(id);
      await rename(engine, id, 'b');
      expect(await engine.findContext('a')).toBeUndefined();
      expect(await engine.findContext('b')).toMatchObject({ id });
      expect((await rename(engine, id)).meta).toEqual({ title: 'x' });
      expect(await engine.findContext('b')).toBeUndefined();
      expect((await createContext(engine, { meta: { name: 'b' } })).id).toBe(2n);
      await failure(rename(engine, 9n as ContextId, 'c'), 'NOT_FOUND');
    });

    it('can be swapped in one batch', async ({ engine }) => {
      const a = await createContext(engine, { meta: { name: 'a' } });
      const b = await createContext(engine, { meta: { name: 'b' } });
      await engine.commit({
        contexts: [
          { do: 'rename', context: a.id },
          { do: 'rename', context: b.id, name: 'a' },
          { do: 'rename', context: a.id, name: 'b' },
        ],
      });
      expect(await engine.findContext('a')).toMatchObject({ id: b.id });
      expect(await engine.findContext('b')).toMatchObject({ id: a.id });
    });

    it('are listed by their beginning, the most recently used first', async () => {
      let now = 1000;
      const engine = await openEngine(target, { clock: () => now++ });
      const names = [
        'user/1',
        'user/2',
        'user',
        'users',
        'User/3',
        'user/\u{10FFFF}x',
        '%',
        '\u0000a',
      ];
      for (const name of names) await createContext(engine, { meta: { name, kind: 'k' } });
      await createContext(engine, { meta: { title: 'without a name' } });
      const listed = async (namePrefix: string, limit: number): Promise<unknown[]> =>
        (await listAllContexts(engine, { namePrefix }, limit)).map(({ meta }) => meta.name);
      for (const limit of [1, 2, 100]) {
        expect(await listed('user/', limit)).toEqual(['user/\u{10FFFF}x', 'user/2', 'user/1']);
        expect(await listed('', limit)).toEqual(names.toReversed());
      }
      expect(await listed('%', 9)).toEqual(['%']);
      expect(await listed('\u0000', 9)).toEqual(['\u0000a']);
      await append(engine, 1n as ContextId, 'used');
      expect(await listed('user/', 1)).toEqual(['user/1', 'user/\u{10FFFF}x', 'user/2']);
      const query = { namePrefix: 'user/', kind: 'other' };
      expect(await listAllContexts(engine, query)).toEqual([]);
      expect(await listAllContexts(engine, { ...query, kind: 'k', label: 'l' })).toEqual([]);
    });

    describeWhen(target.capabilities.reopen, 'after opening again', () => {
      it('are still taken, and those that were freed are still free', async ({ engine }) => {
        for (const name of ODD_NAMES) await createContext(engine, { meta: { name } });
        await rename(engine, 1n as ContextId, 'other');
        await engine.commit({ contexts: [{ do: 'remove', context: 2n as ContextId }] });
        const again = await reopenEngine(target, engine);
        for (const name of ODD_NAMES.slice(2)) {
          await failure(createContext(again, { meta: { name } }), 'EXISTS');
        }
        await failure(createContext(again, { meta: { name: 'other' } }), 'EXISTS');
        for (const name of ODD_NAMES.slice(0, 2)) {
          await createContext(again, { meta: { name } });
        }
      });
    });

    describeWhen(target.capabilities.reindex, 'after the index was made again', () => {
      it('lead to the same contexts', async ({ engine }) => {
        for (const name of ODD_NAMES) await createContext(engine, { meta: { name } });
        await rename(engine, 1n as ContextId, 'other');
        const before = await readAll(engine);
        await engine.reindex();
        expect(await readAll(engine)).toEqual(before);
        expect(await engine.findContext('a')).toBeUndefined();
        await failure(createContext(engine, { meta: { name: 'other' } }), 'EXISTS');
      });
    });
  });
}
