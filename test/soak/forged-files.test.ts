import fc from 'fast-check';
import { expect, it } from 'vitest';
import { makeScenes, meetForged } from '../hostile/forged-store.ts';

// See the quick version in `test/hostile` for what must hold.

const RUNS = 5000;

it('a forged file leads to an answer, or to an error that says what to do', async () => {
  const scenes = await makeScenes();
  const rolls = fc.array(fc.nat(1_000_000), { minLength: 8, maxLength: 8 });
  const property = fc.asyncProperty(fc.nat(2), rolls, async (at, given) => {
    expect(await meetForged(scenes, at, given)).not.toBe('');
  });
  await fc.assert(property, { numRuns: RUNS });
});
