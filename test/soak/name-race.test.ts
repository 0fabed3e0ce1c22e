import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { newFolder } from '../service/host-rig.ts';
import { KilledServer, raceForNames, replacing } from '../service/name-race.ts';
import type { NameRace } from '../service/name-race.ts';
import { PostgresServer } from '../support/postgres/postgres-server.ts';

/*
 * Invariant: 64 processes that ask for one new name at the same time get one context, a thousand times over, also when
 * the owner of the store is killed while it answers, or the server, or a process that commits to a database. `ROUNDS`
 * in the environment sets another number of rounds, and `PROCESSES` another number of processes.
 */

const rounds = Number(process.env['ROUNDS'] ?? 1000);
const processes = Number(process.env['PROCESSES'] ?? 64);

/** The rounds without one context for all, and the contexts that there are then. */
async function run(place: string, race: Omit<NameRace, 'verb'>): Promise<object> {
  const { split } = await raceForNames(place, { ...race, verb: 'getOrCreate' });
  await using store = await openStore(place);
  const { total } = await store.contexts.list({ count: true, limit: 1 });
  return { split, total };
}

const ONE_EACH = { split: [], total: rounds };

for (const [killEvery, what] of [
  [0, 'nobody is killed'],
  [5, 'somebody is killed every five rounds'],
] as const) {
  it(`gives one context of a folder where ${what}`, async () => {
    expect(await run(newFolder(), { processes, rounds, killEvery })).toEqual(ONE_EACH);
  });

  it(`gives one context of a server where ${what}`, async () => {
    const server = await KilledServer.start(newFolder());
    const options = { timeoutMs: 120_000 };
    const pick = () => () => server.replace();
    expect(await run(server.address, { processes, rounds, killEvery, options, pick })).toEqual(
      ONE_EACH,
    );
  });

  it(`gives one context of a database where ${what}`, async () => {
    const database = await PostgresServer.start({
      durable: true,
      settings: { max_connections: String(4 * processes + 20) },
    });
    onTestFinished(() => database.dispose());
    const url = await database.createDatabase();
    const options = { connections: 2 };
    let nth = 0;
    const pick: NameRace['pick'] = (all) => replacing(all, all[nth++ % all.length]!, url, options);
    expect(await run(url, { processes, rounds, killEvery, options, pick })).toEqual(ONE_EACH);
  });
}
