import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import {
  type CrashCount,
  type CrashPoint,
  exploreCrashes,
} from '../../src/testing/disk/explore-crashes.ts';
import { checkRecovered } from './check-recovered.ts';
import { openStore } from './open-store.ts';
import { CHECK_TIME, type Promised } from './oracle.ts';
import { Workload, type WorkloadOptions } from './workload.ts';

export interface ExploreOptions extends WorkloadOptions {
  readonly statesPerPoint: number;
  readonly nestedPerPoint: number;
}

/** Crashes one life of a store at every point, and recovers from each outcome. */
export function explore(options: ExploreOptions): Promise<CrashCount> {
  let checked = 0;
  return exploreCrashes<Promised>({
    ...options,
    run: (disk, note) => Workload.run(disk, note, options),
    async check(disk: MemoryIo, facts: readonly Promised[], crash: CrashPoint) {
      const io = options.wrap?.(disk) ?? disk;
      const engine = await openStore(io, () => CHECK_TIME);
      crash.recovered();
      checked += 1;
      await checkRecovered(engine, facts.at(-1) ?? [], checked % 8 === 0);
    },
  });
}
