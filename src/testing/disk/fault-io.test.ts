import { describe, expect, it } from 'vitest';
import { crashImages } from './crash-states.ts';
import { FaultIo } from './fault-io.ts';
import { planFaults } from './fault-plan.ts';
import type { FaultPlan } from './fault-plan.ts';
import { MemoryIo } from './memory-io.ts';
import { describeOperation } from './operation.ts';

const FOUR = Uint8Array.of(1, 2, 3, 4);

/** Each step of a small workload, as what it returned or the code it failed with. */
async function attempt(io: FaultIo): Promise<unknown[]> {
  const results: unknown[] = [];
  const step = async (act: () => Promise<unknown>): Promise<void> => {
    results.push(await act().catch((error: { code: string }) => error.code));
  };
  const file = await io.open('file', 'create');
  await step(() => file.write(FOUR, 0));
  await step(() => file.write(FOUR, 4));
  await step(() => file.sync());
  await step(() => io.stat('file').then((stat) => stat?.size));
  await step(() => file.write(FOUR, 8));
  return results;
}

describe('FaultIo', () => {
  it('traces every operation', async () => {
    const io = new FaultIo(new MemoryIo());
    expect(await attempt(io)).toEqual([4, 4, undefined, 8, 4]);
    expect(io.trace.map(describeOperation)).toEqual([
      'open file create',
      'write file 4@0',
      'write file 4@4',
      'sync file',
      'stat file',
      'write file 4@8',
    ]);
    expect(io.struck).toBe(0);
  });

  const cases: [FaultPlan, unknown[]][] = [
    [{ at: 2, kind: 'EIO', times: 'once' }, ['EIO', 4, undefined, 8, 4]],
    [{ at: 3, kind: 'EIO', times: 'forever' }, [4, 'EIO', 'EIO', 'EIO', 'EIO']],
    [{ at: 2, kind: 'ENOSPC', times: 'once' }, ['ENOSPC', 4, undefined, 8, 4]],
    [{ at: 3, kind: 'ENOSPC', times: 'forever' }, [4, 'ENOSPC', 'ENOSPC', 4, 'ENOSPC']],
    [{ at: 2, kind: 'SHORT_ENOSPC', times: 'once' }, [2, 'ENOSPC', undefined, 2, 4]],
    [{ at: 2, kind: 'SHORT_ENOSPC', times: 'forever' }, [2, 'ENOSPC', undefined, 2, 'ENOSPC']],
    [{ at: 2, kind: 'EMFILE', times: 'forever' }, [4, 4, undefined, 8, 4]],
    [{ at: 2, kind: 'EROFS', times: 'forever' }, ['EROFS', 'EROFS', undefined, 0, 'EROFS']],
  ];
  it.each(cases)('plays %o', async (plan, results) => {
    expect(await attempt(new FaultIo(new MemoryIo(), plan))).toEqual(results);
  });

  it('stops failing when healed', async () => {
    const io = new FaultIo(new MemoryIo(), { at: 1, kind: 'ENOSPC', times: 'forever' });
    await expect(io.open('file', 'create')).rejects.toMatchObject({ code: 'ENOSPC' });
    io.heal();
    expect(await attempt(io)).toEqual([4, 4, undefined, 8, 4]);
  });

  it('makes a folder read-only', async () => {
    const disk = MemoryIo.from(new Map([['file', FOUR]]));
    const io = new FaultIo(disk, { at: 1, kind: 'EACCES', times: 'forever' });
    await expect(io.open('file', 'write')).rejects.toMatchObject({ code: 'EACCES' });
    await expect(io.lock('lock', 'me')).rejects.toMatchObject({ code: 'EACCES' });
    expect(await (await io.open('file', 'read')).size()).toBe(4);
  });

  it('loses pages and names with a failed sync, whatever the next one says', async () => {
    const disk = new MemoryIo();
    const io = new FaultIo(disk, { at: 3, kind: 'EIO', times: 'once' });
    const file = await io.open('file', 'create');
    await file.write(FOUR, 0);
    await expect(file.sync()).rejects.toMatchObject({ code: 'EIO' });
    await file.sync();
    await io.syncDir('/');
    const sizes = [...crashImages(disk.snapshot(), 50, 1)].map(
      (image) => image.disk.contentOf('file')?.length,
    );
    expect(new Set(sizes)).toEqual(new Set([0, 1, 2, 3, 4]));

    const names = new FaultIo(disk, { at: 2, kind: 'EIO', times: 'once' });
    await names.rename('file', 'renamed');
    await expect(names.syncDir('/')).rejects.toMatchObject({ code: 'EIO' });
    await names.syncDir('/');
    const paths = [...crashImages(disk.snapshot(), 50, 1)].flatMap((image) => image.disk.paths());
    expect(new Set(paths)).toEqual(new Set(['file', 'renamed']));
  });

  it('lets go of a lock and a handle even when that fails', async () => {
    const disk = new MemoryIo();
    const lock = await new FaultIo(disk, { at: 2, kind: 'EIO', times: 'once' }).lock('lock', 'me');
    await expect(lock.release()).rejects.toMatchObject({ code: 'EIO' });
    await disk.lock('lock', 'you');
  });

  it('plans only faults that strike', async () => {
    const io = new FaultIo(new MemoryIo());
    await attempt(io);
    const plans = planFaults(io.trace.slice(1));
    expect(plans).toHaveLength(2 * (3 * 3 + 2 + 1));
    for (const { at, kind, times } of plans) {
      const faulty = new FaultIo(new MemoryIo(), { at: at + 1, kind, times });
      await attempt(faulty);
      expect(faulty.struck, `${at} ${kind} ${times}`).toBeGreaterThan(0);
    }
  });
});
