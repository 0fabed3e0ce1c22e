import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measure } from './measure.ts';

/** What must be true of one thread of so many turns: no cost but that of a range may grow with them. */
export function describeDeepThread(turns: number): void {
  describe(`a thread of ${turns} turns`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'quipu-scale-'));
    let used: Readonly<Record<string, number>> = {};

    beforeAll(async () => {
      await measure('deep-thread.mjs', 'build', join(folder, 'store'), String(turns));
      used = await measure('deep-thread.mjs', 'use', join(folder, 'store'), String(turns));
    }, 300_000);
    afterAll(() => rmSync(folder, { recursive: true }));

    it('opens without reading it all', () => {
      // The bar of the benchmarks is 200 ms on a quiet machine; tests share theirs.
      expect(used['openMs']).toBeLessThan(2000);
      expect(used['rssBytes']).toBeLessThan(200e6);
    });

    it('goes on where it ended', () => {
      expect(used['depth']).toBe(turns);
    });

    it('forks near the root and at the end with the same few reads', () => {
      expect(used['mostForkReads']).toBeLessThanOrEqual(1);
      expect(used['deepestFork']).toBe(turns - 1);
    });

    it('gives any 64 turns by depth in 64 + 2 log2 n record reads', () => {
      expect(used['wrong']).toBe(0);
      expect(used['mostReads']).toBeLessThanOrEqual(64 + 2 * Math.log2(turns));
    });
  });
}
