import { expect, it } from 'vitest';
import { SeededRandom } from '../../src/testing/disk/seeded-random.ts';
import { killImports } from '../import/kill-rig.ts';

it('goes on after 200 kills at random moments', { timeout: 3_600_000 }, async () => {
  const seed = Date.now() % 1_000_000;
  const random = new SeededRandom(seed);
  const different = await killImports(200, () => random.bits() / 2 ** 32);
  expect(different, `seed ${seed}`).toEqual([]);
});
