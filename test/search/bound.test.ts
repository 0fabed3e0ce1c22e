import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { ask } from '../../src/testing/search-suite/fixture.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const CANDIDATES = 10_000;
const PHRASE_CANDIDATES = 4000;
const BATCH = 500;

it('ranks the newest of very many matches, and says so', async () => {
  const folder = freshFolder('quipu-search-bound-');
  const store = await openStore(folder, { durability: 'unsafe' });
  onTestFinished(() => store.close());
  const { id } = await store.contexts.create();
  const append = async (payloads: readonly string[]): Promise<void> => {
    await store.contexts.appendBatch(
      id,
      payloads.map((payload) => ({ type: 'm', payload })),
    );
  };
  // The best match by far, and the oldest.
  await append(['common common common oldest']);
  for (let done = 1; done < CANDIDATES; done += BATCH) {
    const count = Math.min(BATCH, CANDIDATES - done);
    await append(Array.from({ length: count }, (_, nth) => `common words ${done + nth}`));
  }
  const all = await ask(store, 'common', { facets: true, limit: 1 });
  expect(all).toMatchObject({ matches: CANDIDATES, ranked: 'all', hits: [{ id: '1' }] });
  await append(['common words of one more']);
  const newest = await ask(store, 'common', { facets: true, limit: 1 });
  expect(newest).toMatchObject({ matches: CANDIDATES, ranked: 'newest' });
  expect(newest.hits[0]?.id).not.toBe('1');
  expect(newest.facets?.kind).toEqual([{ value: 'context', count: CANDIDATES }]);
  const phrase = await ask(store, '"common words"', { limit: 1 });
  expect(phrase).toMatchObject({ matches: PHRASE_CANDIDATES, ranked: 'newest' });
  const fewer = await ask(store, '"common words" 12*', { limit: 1 });
  expect(fewer).toMatchObject({ ranked: 'all' });
  expect(fewer.matches).toBeGreaterThan(100);
  // What is left out of the ranking is found by a query that has fewer matches.
  expect(await ask(store, 'oldest common')).toMatchObject({ ranked: 'all', hits: [{ id: '1' }] });
});
