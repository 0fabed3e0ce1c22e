import { expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import type { Contexts, ListOptions } from '../../src/context/contexts.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { runSql } from '../support/postgres/run-sql.ts';

const LONG = 'x'.repeat(400);
const METAS: readonly unknown[] = [
  { env: 'prod', n: 1.5, 'a "key"\n': true },
  { env: `grün\t"\u0001\u007f`, none: null, tags: ['a'] },
  { env: LONG, at: { top: 1 } },
  { [LONG]: 1 },
  ['env'],
  'env',
];
const QUERIES: readonly NonNullable<ListOptions['meta']>[] = [
  { env: 'prod' },
  { env: `grün\t"\u0001\u007f` },
  { env: LONG },
  { env: { prefix: 'grün\t"' } },
  { env: { prefix: LONG.slice(0, 200) } },
  { env: { exists: true } },
  { env: { exists: false } },
  { n: 1.5 },
  { none: null },
  { 'a "key"\n': true },
  { tags: { exists: true } },
  { at: { exists: true } },
];

async function answers(contexts: Contexts): Promise<string[]> {
  const lists: string[] = [];
  for (const meta of QUERIES) {
    const { items } = await contexts.list({ meta });
    lists.push(
      items
        .map(({ id }) => String(id))
        .toSorted()
        .join(' '),
    );
  }
  return lists;
}

it('tables of version 3 get the fields of the contexts that they hold', async () => {
  const url = await freshDatabase();
  const store = await openStore(url);
  for (const meta of METAS) await store.contexts.create({ meta });
  await store.contexts.create({ meta: { nul: 'a\0b' } });
  const written = await answers(store.contexts);
  await store.close();
  expect(written.slice(0, 3)).toEqual(['1', '2', '3']);

  await runSql(url, 'DROP TABLE context_fields');
  await runSql(url, `DELETE FROM migrations WHERE part = 'store' AND version = 4`);
  const again = await openStore(url);
  try {
    expect(await answers(again.contexts)).toEqual(written);
    // PostgreSQL cannot take this text apart: its fields come with the next update.
    const withNul = { meta: { nul: { exists: true } } };
    expect((await again.contexts.list(withNul)).items).toEqual([]);
    await again.contexts.update(7, { title: 'again' });
    expect((await again.contexts.list(withNul)).items.map(({ id }) => id)).toEqual([7n]);
  } finally {
    await again.close();
  }
});
