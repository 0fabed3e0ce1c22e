import { expect, it } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { newFolder } from '../service/host-rig.ts';
import { raceForNames } from '../service/name-race.ts';

/*
 * Invariant: 64 processes that ask for one new name at the same time get one context, a thousand times over, also when
 * the owner of the store is killed while it answers. `ROUNDS` in the environment sets another number of rounds.
 */

const ROUNDS = Number(process.env['ROUNDS'] ?? 1000);

for (const [killEvery, owner] of [
  [0, 'the owner lives'],
  [5, 'the owner is killed every five rounds'],
] as const) {
  it(`gives one context to 64 processes where ${owner}`, async () => {
    const folder = newFolder();
    const race = { processes: 64, rounds: ROUNDS, killEvery, verb: 'getOrCreate' } as const;
    const result = await raceForNames(folder, race);
    expect(result).toMatchObject({ rounds: ROUNDS, split: [] });
    await using store = await openStore(folder);
    expect(await store.contexts.list({ count: true, limit: 1 })).toMatchObject({ total: ROUNDS });
  });
}
