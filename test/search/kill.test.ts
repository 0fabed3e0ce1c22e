import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { ask, idsOf } from '../../src/testing/search-suite/fixture.ts';
import { killSearcher } from '../support/killed-searcher.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/*
 * Invariant: wherever a process is killed while it indexes, the index catches up, and has each turn once.
 */
it('an index catches up wherever its process is killed', async () => {
  const folder = freshFolder('quipu-search-kill-');
  for (const word of ['first', 'second', 'third']) await killSearcher(folder, word);
  const store = await openStore(folder);
  onTestFinished(() => store.close());
  const { turns } = await store.maintain.stats();
  const found = await idsOf(store, 'first OR second OR third', { limit: 100 });
  expect(found).toHaveLength(turns);
  expect(new Set(found).size).toBe(turns);
  expect((await ask(store, 'first')).index.documents).toBe(turns);
});
