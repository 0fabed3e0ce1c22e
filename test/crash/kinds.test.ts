import { describe, expect, it } from 'vitest';
import type { IoFile } from '../../src/engine/io.ts';
import { cutPower, KINDS } from './kinds.ts';
import { lyingIo } from './lying-io.ts';

/*
 * Invariant: after a power cut at any point, and one during the recovery from it, a thread has everything that was
 * acknowledged, whole and in order, and at most the one thing more that was on its way. On the real code of each kind,
 * with its files and the engine's on one disk.
 */

describe.each(KINDS)('a $name', { timeout: 120_000 }, (kind) => {
  it('has what was acknowledged, after a power cut anywhere', async () => {
    const { points, states } = await cutPower(kind, 2);
    expect(points).toBeGreaterThan(40);
    expect(states).toBeGreaterThan(100);
  });

  it('would be found to lose it if its own bytes were never synced', async () => {
    const sync = async (file: IoFile, path: string): Promise<void> => {
      if (!/\.wal$|\/sessions\//.test(path)) await file.sync();
    };
    const forgetful = cutPower(kind, 2, (io) => lyingIo(io, { sync }));
    await expect(forgetful).rejects.toThrow(/are there|durable once|there is no|damaged/);
  });
});
