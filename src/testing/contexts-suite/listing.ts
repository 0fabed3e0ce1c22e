import { describe, expect, it } from 'vitest';
import type { Context } from '../../context/context.ts';
import type { Contexts, ListOptions } from '../../context/contexts.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { openStore } from './fixture.ts';
import { eachPage } from '../../base/pages.ts';

export function listingSuite(target: ContextsTarget): void {
  describe('listing contexts', () => {
    it('by fields of their meta: values, beginnings and whether they are there', async () => {
      const contexts = await openListed(target);
      const cases: [ListOptions['meta'], string][] = [
        [{ env: 'prod' }, '1 2'],
        [{ env: '"prod"' }, '4'],
        [{ env: 7 }, '5'],
        [{ env: '7' }, ''],
        [{ tries: 3 }, '1'],
        [{ tries: 3.5 }, '2'],
        [{ ok: true }, '2'],
        [{ ok: null }, '10'],
        [{ none: null }, '4'],
        [{ user: '' }, '4'],
        [{ user: { prefix: 'an' } }, '1 2 10'],
        [{ user: { prefix: '' } }, '1 2 3 4 6 10'],
        [{ user: { prefix: 'añ' } }, '6'],
        [{ user: { prefix: 'an\u{10ffff}' } }, '10'],
        [{ long: `${LONG}1` }, '5'],
        [{ long: LONG }, ''],
        [{ long: { prefix: LONG.slice(0, 200) } }, '5 6'],
        [{ [`key ${NUL} "=`]: `a${NUL}b` }, '5'],
        [{ [`key ${NUL} "=`]: { prefix: `a${NUL}` } }, '5'],
        [{ env: { exists: true } }, '1 2 3 4 5 6'],
        [{ tags: { exists: true } }, '3'],
        [{ env: { exists: false } }, '7 8 9 10'],
        [{ env: 'prod', user: { prefix: 'ant' } }, '2'],
        [{ env: 'prod', ok: { exists: false } }, '1'],
        [{ toString: { exists: true } }, ''],
        [{}, '1 2 3 4 5 6 7 8 9 10'],
      ];
      for (const [meta, ids] of cases) {
        expect(await idsOf(contexts, { ...(meta && { meta }) }), JSON.stringify(meta)).toBe(ids);
      }
    });

    it('by fields together with label, kind and name', async () => {
      const contexts = await openListed(target);
      const meta = { user: { prefix: 'a' } };
      expect(await idsOf(contexts, { meta })).toBe('1 2 6 10');
      expect(await idsOf(contexts, { meta, kind: 'odd' })).toBe('2 6 10');
      expect(await idsOf(contexts, { meta, label: 'l1' })).toBe('2');
      expect(await idsOf(contexts, { meta, namePrefix: 'c/1/' })).toBe('2 6 10');
      expect(await idsOf(contexts, { meta, namePrefix: 'c/1/', label: 'l2', kind: 'odd' })).toBe(
        '6',
      );
      expect(await idsOf(contexts, { namePrefix: 'c/1/', label: 'l2', kind: 'odd' })).toBe('6');
    });

    it('by the fields that they have now', async () => {
      const contexts = await openListed(target);
      await contexts.update(1, { meta: { env: 'stage' } });
      await contexts.update(2, { title: 'renamed' });
      await contexts.update(3, { meta: null });
      await contexts.update(9, { meta: { env: 'prod' } });
      await contexts.remove(4);
      // Newest first goes by milliseconds.
      await nextMs();
      await contexts.append(2, { type: 't', payload: 1 });
      expect(await idsOf(contexts, { meta: { env: 'prod' } })).toBe('2 9');
      expect(await idsOf(contexts, { meta: { env: 'stage' } })).toBe('1');
      expect(await idsOf(contexts, { meta: { env: { exists: true } } })).toBe('1 2 5 6 9');
      const newest = await contexts.list({ meta: { env: { exists: true } }, limit: 1 });
      expect(newest.items.map(({ id }) => id)).toEqual([2n]);
    });

    it('by the time at which they were created and last used', async () => {
      const { contexts } = await openStore(target);
      const made: Context[] = [];
      for (let n = 0; n < 3; n += 1) {
        await nextMs();
        made.push(await contexts.create({ meta: { n } }));
      }
      await nextMs();
      const used = await contexts.append(1, { type: 't', payload: 1 });
      const [first, second, third] = made.map(({ createdAt }) => createdAt) as [
        number,
        number,
        number,
      ];
      const listed = (options: ListOptions): Promise<string> => idsOf(contexts, options);
      expect(await listed({ created: { since: second } })).toBe('2 3');
      expect(await listed({ created: { until: second } })).toBe('1');
      expect(await listed({ created: { since: new Date(second), until: new Date(third) } })).toBe(
        '2',
      );
      expect(await listed({ updated: { since: third } })).toBe('1 3');
      expect(await listed({ updated: { until: used.createdAt } })).toBe('2 3');
      expect(await listed({ updated: { since: first, until: third } })).toBe('2');
      expect(await listed({ updated: { since: third }, created: { until: second } })).toBe('1');
      expect(await listed({ updated: { since: third }, meta: { n: 2 } })).toBe('3');
      expect(await listed({ updated: { until: third }, meta: { n: { exists: true } } })).toBe('2');
      expect(await listed({ created: {} })).toBe('1 2 3');
    });

    it('in pages, newest first, each once, and says how many there are', async () => {
      const { contexts } = await openStore(target);
      for (let n = 0; n < 12; n += 1) {
        await contexts.create({ meta: { mod: n % 2 }, labels: [`l${n % 3}`] });
      }
      const queries: [ListOptions, number][] = [
        [{}, 12],
        [{ meta: { mod: 0 } }, 6],
        [{ meta: { mod: { exists: true } }, label: 'l0' }, 4],
        [{ meta: { mod: 5 } }, 0],
      ];
      for (const [query, total] of queries) {
        const seen: Context[] = [];
        const options = { ...query, limit: 2, count: true };
        for await (const page of eachPage((after) => contexts.list({ ...options, ...after }))) {
          expect(page.total).toBe(total);
          seen.push(...page.items);
        }
        expect(seen.map(({ id }) => id)).toEqual(
          seen
            .toSorted((a, b) => b.updatedAt - a.updatedAt || Number(b.id - a.id))
            .map(({ id }) => id),
        );
        expect(new Set(seen.map(({ id }) => id)).size).toBe(total);
      }
      expect((await contexts.list()).total).toBeUndefined();
      expect(await contexts.list({ limit: 0, count: true })).toMatchObject({
        items: [],
        total: 12,
      });
    });

    it('and misses none that are used while somebody pages', async () => {
      const { contexts } = await openStore(target);
      for (let n = 0; n < 6; n += 1) await contexts.create({ meta: { env: 'prod' } });
      const query = { meta: { env: 'prod' }, limit: 2 };
      const seen = new Set<bigint>();
      for await (const { items } of eachPage((after) => contexts.list({ ...query, ...after }))) {
        // Once, after the first page.
        if (seen.size === 0) await contexts.append(1, { type: 't', payload: 1 });
        for (const { id } of items) seen.add(id);
      }
      expect([...seen].toSorted((a, b) => Number(a - b))).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
    });

    it('refuses conditions that it could not keep', async () => {
      const { contexts } = await openStore(target);
      const wrong: Record<string, ListOptions>[] = [
        { meta: { meta: 'env' as never } },
        { meta: { meta: { env: ['a'] as never } } },
        { meta: { meta: { env: { like: 'a' } as never } } },
        { meta: { meta: { env: Number.NaN } } },
        { meta: { meta: { [LONG]: 1 } } },
        { meta: { meta: { env: { prefix: LONG } } } },
        { meta: { meta: { env: { prefix: 7 as never } } } },
        { meta: { meta: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [n, 1])) } },
        { created: { created: 5 as never } },
        { 'created.since': { created: { since: -1 } } },
        { 'updated.until': { updated: { until: new Date(Number.NaN) } } },
        { count: { count: 'yes' as never } },
        { list: { prefix: 'a' } as ListOptions },
      ];
      for (const one of wrong) {
        const [what, options] = present(Object.entries(one)[0]);
        const { data } = await failure(contexts.list(options), 'INVALID');
        expect(data).toEqual({ what });
      }
    });
  });
}

const LONG = 'x'.repeat(400);
const NUL = '\0';

/** What the contexts of these tests are about, by rising id from 1. */
const METAS: readonly unknown[] = [
  { env: 'prod', user: 'ann', tries: 3 },
  { env: 'prod', user: 'anton', tries: 3.5, ok: true },
  { env: 'dev', user: 'bob', ok: false, tags: ['a'] },
  { env: '"prod"', user: '', none: null },
  { env: 7, long: `${LONG}1`, [`key ${NUL} "=`]: `a${NUL}b` },
  { env: { prod: true }, long: `${LONG}2`, user: 'añb' },
  ['env'],
  'env',
  undefined,
  { user: 'an\u{10ffff}', ok: null },
];

async function openListed(target: ContextsTarget): Promise<Contexts> {
  const { contexts } = await openStore(target);
  for (const [at, meta] of METAS.entries()) {
    const kind = at % 2 === 0 ? 'even' : 'odd';
    const details = { kind, labels: [`l${at % 3}`], name: `c/${at % 4}/${at}` };
    await contexts.create({ ...details, ...(meta !== undefined && { meta }) });
  }
  return contexts;
}

async function idsOf(contexts: Contexts, options: ListOptions): Promise<string> {
  const { items } = await contexts.list(options);
  return items
    .map(({ id }) => Number(id))
    .toSorted((a, b) => a - b)
    .join(' ');
}

/** Waits until the clock shows another millisecond. */
async function nextMs(): Promise<void> {
  const before = Date.now();
  while (Date.now() <= before) await new Promise(setImmediate);
}
