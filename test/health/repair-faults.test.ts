import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import { packFile } from '../../src/engine/files/names.ts';
import type { CheckReport } from '../../src/engine/upkeep.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { type FaultPlan, planFaults } from '../../src/testing/disk/fault-plan.ts';
import type { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { Planter } from './planter.ts';
import { buildSample, openSample } from './sample-store.ts';

// Invariant: whichever operation of a repair fails, once, it ends with one of our errors or is done, and
// running it again finishes the work: a check after that is clean and names what was set aside.

/** A store with a damaged blob and a published file that was changed. */
async function damagedDisk(): Promise<MemoryIo> {
  const sample = await buildSample();
  const planter = new Planter(sample);
  await planter.flip(packFile(1), planter.recordOf(1, 'better words').offset + 50);
  await planter.flip('out/state.json', 3);
  await sample.engine.close();
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
      expect(last?.problems, JSON.stringify(plan)).toEqual([]);
      expect(last?.quarantined.length, JSON.stringify(plan)).toBeGreaterThan(0);
    }
  });
});
