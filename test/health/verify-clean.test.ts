import fc from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import { steps } from '../../src/testing/engine-suite/random-batch.ts';
import { verifySteps } from '../../src/testing/health-suite/verify-steps.ts';
import type { VerifyTarget } from '../../src/testing/health-suite/verify-steps.ts';
import { openStore } from '../crash/open-store.ts';

describe('a store that nothing damaged', { timeout: 120_000 }, () => {
  it('verifies clean after anything, and while it goes on', async () => {
    await fc.assert(
      fc.asyncProperty(steps(true), async (sequence) => {
        expect(await verifySteps(sequence, inMemory())).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });

  it('verifies clean on a real disk, with the real index', async () => {
    await fc.assert(
      fc.asyncProperty(steps(true), async (sequence) => {
        expect(await verifySteps(sequence, await inFolder())).toEqual([]);
      }),
      { numRuns: 5 },
    );
  });
});

function inMemory(): VerifyTarget {
  const disk = new MemoryIo();
  return { open: () => openStore(disk, () => 1000), remove: async () => {} };
}

async function inFolder(): Promise<VerifyTarget> {
  const folder = await mkdtemp(join(tmpdir(), 'quipu-verify-'));
  return {
    open: () => openFilesEngine(folder, { clock: () => 1000 }),
    remove: () => rm(folder, { recursive: true }),
  };
}
