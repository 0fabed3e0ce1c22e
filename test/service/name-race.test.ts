import { expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { newFolder } from './host-rig.ts';
import { KilledServer, raceForNames } from './name-race.ts';

/*
 * Invariant: processes that ask for one new name at the same time get one context, also when the owner of the store,
 * or the server, is killed while it answers. (test/soak/name-race.test.ts does it with 64 processes, 1,000 times.)
 */

it('gives one context to processes that race for a name, also when the owner is killed', async () => {
  const folder = newFolder();
  const race = { processes: 5, rounds: 20, killEvery: 10, verb: 'getOrCreate' } as const;
  expect(await raceForNames(folder, race)).toEqual({ rounds: 20, kills: 2, split: [] });
  await using store = await openStore(folder);
  expect(await store.contexts.list({ count: true, limit: 1 })).toMatchObject({ total: 20 });
});

it('gives one context to clients that race for a name, also when the server is killed', async () => {
  const server = await KilledServer.start(newFolder());
  const race = {
    processes: 3,
    rounds: 12,
    killEvery: 6,
    verb: 'getOrCreate',
    options: { timeoutMs: 120_000 },
    pick: () => () => server.replace(),
  } as const;
  expect(await raceForNames(server.address, race)).toEqual({ rounds: 12, kills: 2, split: [] });
  await using store = await openStore(server.address);
  expect(await store.contexts.list({ count: true, limit: 1 })).toMatchObject({ total: 12 });
});

it('catches processes that look first and create then', async () => {
  const race = { processes: 4, rounds: 20, killEvery: 0, verb: 'lookThenCreate' } as const;
  expect((await raceForNames(newFolder(), race)).split).not.toEqual([]);
});
