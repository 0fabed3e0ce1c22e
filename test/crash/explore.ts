import { createFiles } from '../../src/engine/files/core/truths.ts';
import { StoreFiles } from '../../src/engine/files/disk/store-files.ts';
import {
  type CrashCount,
  type CrashPoint,
  exploreCrashes,
} from '../../src/testing/disk/explore-crashes.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { checkRecovered } from './check-recovered.ts';
import { describeDifference } from './describe-difference.ts';
import { openStore, STORE } from './open-store.ts';
import { CHECK_TIME, type Promised } from './oracle.ts';
import { Workload, type WorkloadOptions } from './workload.ts';

export interface ExploreOptions extends WorkloadOptions {
  readonly statesPerPoint: number;
  readonly nestedPerPoint: number;
  /** The disk at the beginning; an empty one by default, on which the store is made first. */
  readonly start?: MemoryIo;
  /** What earlier lives have recovered, when several are to count together. */
  readonly recovered?: Recovered;
}

export interface Recovered {
  /** What the store showed, by the hash of the disk that it was recovered from. */
  readonly texts: Map<number, string>;
  /** How many of these disks were left by a crash during recovery. */
  nested: number;
}

/** One recovery in so many is read byte by byte, written to and closed. */
const THOROUGH_EVERY = 32;

/**
 * Crashes one life of a store at every point, and recovers from each outcome. Recovery depends on
 * nothing but the disk: an image that comes again, after more was sent or acknowledged, is held
 * against the new promises as it was found the first time.
 */
export function explore(options: ExploreOptions): Promise<CrashCount> {
  const { recovered = { texts: new Map<number, string>(), nested: 0 } } = options;
  const { texts } = recovered;
  return exploreCrashes<Promised>({
    ...options,
    run: (disk, note) => Workload.run(disk, note, options),
    async check(disk: MemoryIo, facts: readonly Promised[], crash: CrashPoint) {
      const promised = facts.at(-1) ?? [];
      const known = texts.get(crash.image);
      if (known !== undefined) {
        if (!promised.includes(known)) throw new Error(describeDifference(known, promised));
        return;
      }
      const engine = await openStore(options.wrap?.(disk) ?? disk, () => CHECK_TIME);
      crash.recovered();
      const thoroughly = texts.size % THOROUGH_EVERY === 0;
      texts.set(crash.image, await checkRecovered(engine, promised, thoroughly));
      if (crash.nested) recovered.nested += 1;
    },
  });
}

export interface LivesOptions {
  readonly firstSeed: number;
  /** How many different disks are to be recovered at least. */
  readonly states: number;
  /** The first life begins before there is a store. */
  readonly makesStore: boolean;
}

export interface LivesCount {
  readonly lives: number;
  /** Moments at which a life was crashed. */
  readonly points: number;
  /** The hashes of the disks that were recovered, each one once. */
  readonly images: readonly number[];
  /** How many of them were left by a crash during recovery. */
  readonly nested: number;
  /** How often one was held against the promises of a moment. */
  readonly checks: number;
}

/** Explores one life after the other, each with its own seed, until `states` disks were recovered. */
export async function exploreLives(options: LivesOptions): Promise<LivesCount> {
  const { firstSeed, states, makesStore } = options;
  const start = await makeStart();
  const recovered: Recovered = { texts: new Map(), nested: 0 };
  const sum = { lives: 0, points: 0, checks: 0 };
  for (let seed = firstSeed; recovered.texts.size < states; seed += 1) {
    // Every other life has a process that is killed now and then.
    const lived = { seed, steps: 6, kills: seed % 2 === 0 ? 0 : 6 };
    const drawn = { statesPerPoint: 14, nestedPerPoint: 8 };
    const begun = makesStore && seed === firstSeed ? {} : { start };
    const count = await explore({ ...lived, ...drawn, ...begun, recovered });
    sum.lives += 1;
    sum.points += count.points;
    sum.checks += count.states;
  }
  return { ...sum, nested: recovered.nested, images: [...recovered.texts.keys()] };
}

/** An empty store with the same bytes every time: a seed then stands for the same disks. */
async function makeStart(): Promise<MemoryIo> {
  const disk = new MemoryIo();
  await disk.mkdir(STORE);
  const said = { store: '0'.repeat(26), createdAt: new Date(0).toISOString() };
  await createFiles(new StoreFiles(disk, STORE), { ...said, durability: 'safe' });
  await (await openStore(disk, () => 0)).close();
  return disk.copy();
}
