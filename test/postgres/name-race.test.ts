import { expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { raceForNames, replacing } from '../service/name-race.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

/*
 * Invariant: processes that ask a database for one new name at the same time get one context, also when one of them is
 * killed while it commits. (test/soak/name-race.test.ts does it with 64 processes, 1,000 times.)
 */

it('gives one context to processes that race for a name, also when one is killed', async () => {
  const url = await freshDatabase();
  const options = { connections: 2 };
  let nth = 0;
  const race = {
    processes: 3,
    rounds: 12,
    killEvery: 6,
    verb: 'getOrCreate',
    options,
    pick: (all: Parameters<typeof replacing>[0]) =>
      replacing(all, all[nth++ % all.length]!, url, options),
  } as const;
  expect(await raceForNames(url, race)).toEqual({ rounds: 12, kills: 2, split: [] });
  await using store = await openStore(url);
  expect(await store.contexts.list({ count: true, limit: 1 })).toMatchObject({ total: 12 });
});
