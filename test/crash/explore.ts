import {
  type CrashCount,
  type CrashPoint,
  exploreCrashes,
} from '../../src/testing/disk/explore-crashes.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { checkRecovered } from './check-recovered.ts';
import { openStore } from './open-store.ts';
import { CHECK_TIME, type Promised } from './oracle.ts';
import { Workload, type WorkloadOptions } from './workload.ts';

export interface ExploreOptions extends WorkloadOptions {
  readonly statesPerPoint: number;
  readonly nestedPerPoint: number;
  /** The disk at the beginning; an empty one by default, on which the store is made first. */
  readonly start?: MemoryIo;
}

/** One recovery in so many is read byte by byte, written to and closed. */
const THOROUGH_EVERY = 32;

/** Crashes one life of a store at every point, and recovers from each outcome. */
export function explore(options: ExploreOptions): Promise<CrashCount> {
  let checked = 0;
  return exploreCrashes<Promised>({
    ...options,
    run: (disk, note) => Workload.run(disk, note, options),
    async check(disk: MemoryIo, facts: readonly Promised[], crash: CrashPoint) {
      const engine = await openStore(options.wrap?.(disk) ?? disk, () => CHECK_TIME);
      crash.recovered();
      checked += 1;
      await checkRecovered(engine, facts.at(-1) ?? [], checked % THOROUGH_EVERY === 0);
    },
  });
}

/** Explores one life after the other, each with its own seed, until `states` crashes were recovered from. */
export async function exploreLives(firstSeed: number, states: number): Promise<CrashCount> {
  const start = new MemoryIo();
  await (await openStore(start, () => 0)).close();
  const sum = { points: 0, states: 0, nested: 0, distinctDisks: 0 };
  for (let seed = firstSeed; sum.states < states; seed += 1) {
    // Every other life has a process that is killed now and then; the first one of all makes the store.
    const lived = { seed, steps: 7, kills: seed % 2 === 0 ? 0 : 7 };
    const drawn = { statesPerPoint: 14, nestedPerPoint: 8 };
    const count = await explore({ ...lived, ...drawn, ...(seed === firstSeed ? {} : { start }) });
    sum.points += count.points;
    sum.states += count.states;
    sum.nested += count.nested;
    sum.distinctDisks += count.distinctDisks;
  }
  return sum;
}
