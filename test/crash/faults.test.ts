import { describe, expect, it } from 'vitest';
import { importRig } from './import-rig.ts';
import type * as FaultRig from './fault-rig.ts';

/*
 * Invariant: whichever operation of the disk fails, once or from then on,
 * - a commit that was not acknowledged says so honestly, and is not there, unless it said that nobody knows;
 * - nothing acknowledged is lost, not even when power is cut afterwards;
 * - reads go on and show exactly what was acknowledged, and nothing is taken for damage;
 * - once the disk works again, so does the store: at once, or after a failed sync when it is opened again,
 *   and until then it acknowledges nothing.
 */

const rig = await importRig<typeof FaultRig>('fault-rig');

describe('a disk that fails', () => {
  it('while a store is made', { timeout: 120_000 }, async () => {
    expect(await rig.meetWhileMaking()).toBeGreaterThan(100);
  });

  it('while a store is written to', { timeout: 120_000 }, async () => {
    expect(await rig.meetWhileWriting()).toBeGreaterThan(100);
  });

  it('while a store is recovered, written to and opened again', { timeout: 120_000 }, async () => {
    expect(await rig.meetWhileRecovering()).toBeGreaterThan(100);
  });
});
