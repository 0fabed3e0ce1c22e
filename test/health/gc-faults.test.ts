import { beforeAll, describe, expect, it } from 'vitest';
import { toContextId } from '../../src/base/brand.ts';
import type { Io } from '../../src/engine/io.ts';
import { HEADS_FILE } from '../../src/engine/files/heads/head-table.ts';
import { closePack } from '../../src/engine/files/packs/pack-file.ts';
import { collectGarbage } from '../../src/maintain/collect-garbage.ts';
import { rootSources } from '../../src/store/root-sources.ts';
import { HEAD_RECORD_BYTES } from '../../src/format/head-record.ts';
import { type CrashCount, exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { append, blobOf, createContext, failure } from '../../src/testing/engine-suite/fixture.ts';
import { lyingIo } from '../crash/lying-io.ts';
import { openStore } from '../crash/open-store.ts';
import { CHECK_TIME } from '../crash/oracle.ts';
import { openCopy, openLive, STORE as LIVE } from './backup-rig.ts';
import { failOperations } from './gc-faults.ts';
import {
  assertClean,
  checkAfter,
  checkLiving,
  collect,
  collectBesideCommits,
  large,
  makeGarbage,
  packSizes,
  type Step,
  STORE,
} from './gc-scene.ts';
import { rewriteInWrongOrder, withLateCopySync, withoutCopySync } from './gc-variants.ts';

/*
 * Invariant: wherever a collection is interrupted, by a power cut, by one during the recovery from it, or
 * by an operation of the disk that fails, while commits go on beside it,
 * - everything that a context leads to can be read, with every byte right, patches included;
 * - nothing acknowledged is lost, and nothing is taken for damage;
 * - the next collection takes all that is dead, and no pack holds anything else then.
 */

let garbage: MemoryIo;
beforeAll(async () => {
  garbage = await makeGarbage();
});

/** Its small blobs are alive; the large one, whose list is among them, is not. */
async function makeMostlyAlive(): Promise<MemoryIo> {
  const disk = new MemoryIo();
  const engine = await openStore(disk, () => 1000);
  const { id } = await createContext(engine);
  for (let at = 0; at < 20; at += 1) await append(engine, id, large(100 + at).slice(0, 500));
  await engine.commit({ blobs: [blobOf(large(7))] });
  await engine.close();
  return disk.copy();
}

interface CutOptions {
  readonly statesPerPoint: number;
  readonly nestedPerPoint?: number;
  readonly segmentBytes?: number;
  /** What stands between the engine and its disk. */
  readonly wrap?: (io: Io) => Io;
}

function cutPower(options: CutOptions): Promise<CrashCount> {
  const { segmentBytes, wrap = (io) => io } = options;
  return exploreCrashes<Step>({
    seed: 5,
    ...options,
    start: garbage,
    async run(disk, note) {
      const engine = await openStore(wrap(disk), () => 2000, segmentBytes);
      await collectBesideCommits(engine, note);
      await engine.close();
    },
    check: (disk, steps, crash) => checkAfter(disk, { steps }, () => crash.recovered()),
  });
}

describe('a collection', () => {
  it('keeps its promises when the power is cut', { timeout: 120_000 }, async () => {
    const { points, states, nested } = await cutPower({ statesPerPoint: 3, nestedPerPoint: 4 });
    expect(points).toBeGreaterThan(100);
    expect(states).toBeGreaterThan(200);
    expect(nested).toBeGreaterThan(50);
  });

  it('keeps them when hardly any checkpoint comes in between', { timeout: 120_000 }, async () => {
    const { states } = await cutPower({ statesPerPoint: 2, segmentBytes: 1024 * 1024 });
    expect(states).toBeGreaterThan(80);
  });

  it('keeps its promises when operations fail', { timeout: 120_000 }, async () => {
    expect(await failOperations(garbage, 7)).toBeGreaterThan(50);
  });

  it('leaves packs with anything alive when there is no room for a copy', async () => {
    const disk = garbage.copy();
    const full: Io = { ...lyingIo(disk, {}), freeBytes: async () => 1000 };
    const engine = await openStore(full, () => 2000);
    expect(packSizes(disk)).toHaveLength(4);
    const report = await collect(engine);
    expect(report.skippedForSpace).toBeGreaterThan(0);
    expect(report.keptDeadBytes).toBeGreaterThan(0);
    expect(report.freedBytes).toBeGreaterThan(100_000);
    expect(packSizes(disk)).toHaveLength(2);
    await checkLiving(engine, []);
    await assertClean(engine);
    await engine.close();
    await checkAfter(disk.copy(), { steps: [] });
  });

  it('takes the list of a large blob out of a pack that stays', async () => {
    const disk = await makeMostlyAlive();
    const engine = await openStore(disk, () => 2000);
    const report = await collectGarbage(engine, rootSources(engine), { graceMs: 0 });
    expect(report.removedBlobs).toBe(report.deadBlobs);
    expect(report.keptDeadBytes).toBeGreaterThan(0);
    expect(report.freedBytes).toBeGreaterThan(100_000);
    await assertClean(engine);
    await engine.close();
  });

  it('takes packs written since the last checkpoint, and the store opens all the same', async () => {
    const disk = await makeMostlyAlive();
    const engine = await openStore(disk, () => 2000, 1024 * 1024);
    await engine.commit({ blobs: [blobOf(large(8))] });
    expect((await collect(engine)).freedBytes).toBeGreaterThan(200_000);
    await assertClean(await openStore(disk.copy(), () => CHECK_TIME));
    await engine.close();
  });

  it('takes nothing when a root cannot be read, and says which', async () => {
    const disk = garbage.copy();
    const file = await disk.open(`${STORE}/${HEADS_FILE}`, 'write');
    await file.write(new Uint8Array(8), HEAD_RECORD_BYTES + 8);
    const engine = await openStore(disk, () => 2000);
    const before = packSizes(disk);
    const error = await failure(collect(engine), 'CORRUPT');
    expect(error.message).toMatch(/nothing was collected, because a root of contexts/);
    expect(error.data).toEqual({ file: HEADS_FILE, offset: HEAD_RECORD_BYTES });
    expect(packSizes(disk)).toEqual(before);
    await engine.close();
  });
});

describe('the rig finds a collection that', () => {
  it('does not sync what it copied', async () => {
    await expect(cutPower({ statesPerPoint: 2, wrap: withoutCopySync })).rejects.toThrow(
      /crash before/,
    );
  });

  it('syncs what it copied too late', async () => {
    await expect(cutPower({ statesPerPoint: 2, wrap: withLateCopySync })).rejects.toThrow(
      /crash before/,
    );
  });

  it('removes a pack before its copy counts', async () => {
    const text = 'must not be lost';
    const exploring = exploreCrashes({
      seed: 6,
      statesPerPoint: 2,
      async run(disk) {
        const { writer, engine } = await openLive(disk, () => 2000);
        await createContext(engine);
        await append(engine, toContextId(1), text);
        const [pack] = writer.core.tails.packs;
        if (pack === undefined) throw new Error('there is no pack');
        await writer.exclusively(() => writer.storeWrites([closePack(pack)]));
        await rewriteInWrongOrder(writer, pack.number);
      },
      async check(disk) {
        if ((await disk.stat(`${LIVE}/FORMAT`)) === undefined) return;
        await assertClean(await openCopy(disk, LIVE));
      },
    });
    await expect(exploring).rejects.toThrow(/lost[^]*crash before/);
  });
});
