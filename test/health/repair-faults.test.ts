import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import { packFile } from '../../src/engine/files/packs/pack-file.ts';
import type { CheckReport, Problem } from '../../src/engine/upkeep.ts';
import { exploreCrashes } from '../../src/testing/disk/explore-crashes.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { type FaultPlan, planFaults } from '../../src/testing/disk/fault-plan.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { Planter } from './planter.ts';
import { buildSample, openSample, readEverything } from './sample-store.ts';

// Invariant: whichever operation of a repair fails, once, it ends with one of our errors or is done, and
// running it again finishes the work: a check after that finds only what is lost for good, and names what was set
// aside. The same when the power is cut at any point; and whatever could be read before can be read after.

/** A store with a damaged blob, a changed published file, a log cut short, and a mark that says nothing. */
async function damagedDisk(): Promise<MemoryIo> {
  const sample = await buildSample();
  const planter = new Planter(sample);
  await planter.flip(packFile(1), planter.recordOf(1, 'better words').offset + 50);
  await planter.flip('out/state.json', 3);
  await sample.engine.close();
  await planter.cut('logs/events', 40);
  await planter.flip('journal/mark', 9);
  return sample.disk.copy();
}

async function repairWith(
  disk: MemoryIo,
  plan?: FaultPlan,
): Promise<{ io: FaultIo; report: CheckReport | undefined; opened: number }> {
  const io = new FaultIo(disk, plan);
  const { engine } = await openSample(io);
  const opened = io.trace.length;
  const report = await engine.upkeep.check({ repair: true }).catch((error: unknown) => {
    if (!isQuipuError(error)) throw error;
    return undefined;
  });
  await engine.close().catch((error: unknown) => {
    if (!isQuipuError(error)) throw error;
  });
  return { io, report, opened };
}

describe('a repair that fails', { timeout: 120_000 }, () => {
  it('can be run again', async () => {
    const start = await damagedDisk();
    const { io, opened } = await repairWith(start.copy());
    const repairing = planFaults(io.trace, ['EIO', 'ENOSPC']).filter(
      ({ at, times }) => at > opened && times === 'once',
    );
    expect(repairing.length).toBeGreaterThan(100);
    const step = Math.ceil(repairing.length / 50);
    for (const plan of repairing.filter((_, at) => at % step === 0)) {
      const disk = start.copy();
      await repairWith(disk, plan);
      const after = disk.copy();
      const { report: again } = await repairWith(after);
      expect(again, JSON.stringify(plan)).toBeDefined();
      const { report: last } = await repairWith(after.copy());
      expect(last?.problems.filter(isStale), JSON.stringify(plan)).toEqual([]);
      expect(last?.quarantined, JSON.stringify(plan)).toEqual(again?.quarantined);
      expect(last?.quarantined.length, JSON.stringify(plan)).toBeGreaterThan(0);
    }
  });
});

describe('a repair whose power is cut', { timeout: 120_000 }, () => {
  it('loses nothing more, and can be run again', async () => {
    const start = await damagedDisk();
    const before = await readEverything((await openSample(start.copy())).engine);
    const { points, nested } = await exploreCrashes<'repaired'>({
      seed: 8,
      statesPerPoint: 4,
      nestedPerPoint: 4,
      start,
      async run(disk, note) {
        const { engine } = await openSample(disk);
        await engine.upkeep.check({ repair: true });
        note('repaired');
        await engine.close();
      },
      async check(disk, facts, crash) {
        const { engine } = await openSample(disk);
        crash.recovered();
        assertKept(before, await readEverything(engine));
        const known = await engine.upkeep.check({ repair: false });
        const { quarantined } = await engine.upkeep.check({ repair: true });
        if (facts.length > 0 && quarantined.length > known.quarantined.length)
          throw new Error('what was set aside is set aside again');
        const last = await engine.upkeep.check({ repair: false });
        const left = last.problems.filter(isStale);
        if (left.length > 0) throw new Error(`left: ${JSON.stringify(left)}`);
        if (last.quarantined.length === 0) throw new Error('nothing was set aside');
        assertKept(before, await readEverything(engine));
        await engine.close();
      },
    });
    expect(points).toBeGreaterThan(30);
    expect(nested).toBeGreaterThan(5);
  });
});

function isStale({ severity }: Problem): boolean {
  return severity === 'stale';
}

function assertKept(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): void {
  for (const [question, answer] of before) {
    if (now.get(question) !== answer)
      throw new Error(`${question}: ${answer} is ${now.get(question)}`);
  }
}
