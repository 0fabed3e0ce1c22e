import { setTimeout as sleep } from 'node:timers/promises';
import { HostProcess, ownerOf } from './host-rig.ts';

export interface NameRace {
  readonly processes: number;
  readonly rounds: number;
  /** The owner of the store is killed in every such round, while it answers. 0: never. */
  readonly killEvery: number;
  /** The verb of the processes under test. */
  readonly verb: 'getOrCreate' | 'lookThenCreate';
}

export interface RaceResult {
  readonly rounds: number;
  readonly kills: number;
  /** Rounds in which the processes did not all get the same context. */
  readonly split: readonly string[];
}

/** In every round all processes ask for one new name at the same time. Who is killed is replaced for the next round. */
export async function raceForNames(folder: string, race: NameRace): Promise<RaceResult> {
  const all = await Promise.all(
    Array.from({ length: race.processes }, () => HostProcess.open(folder)),
  );
  const split: string[] = [];
  let kills = 0;
  for (let round = 0; round < race.rounds; round += 1) {
    const name = `name ${round}`;
    const answers = all.map((one) => askOrDie(one, race.verb, name));
    if (race.killEvery > 0 && round % race.killEvery === race.killEvery - 1) {
      const owner = ownerOf(folder, all);
      // The moment of the death is another one in every round.
      await sleep(kills % 8);
      await owner.kill();
      all[all.indexOf(owner)] = await HostProcess.open(folder);
      kills += 1;
    }
    const ids = new Set((await Promise.all(answers)).filter((id) => id !== undefined));
    // Who comes later gets it, too.
    ids.add(await all[round % all.length]!.ask<string>(race.verb, name));
    if (ids.size !== 1) split.push(`${name}: contexts ${[...ids].join(', ')}`);
  }
  return { rounds: race.rounds, kills, split };
}

/** Undefined when the process was killed before it answered. */
async function askOrDie(one: HostProcess, verb: string, name: string): Promise<string | undefined> {
  return Promise.race([one.ask<string>(verb, name), one.exited.then(() => undefined)]);
}
