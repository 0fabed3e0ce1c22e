import { describe, expect, it } from 'vitest';
import { CASES, cutPower, failOperations } from '../health/backup-scenes.ts';

/** Each takes about a minute and a half. */
const SEEDS = 8;

describe.each(CASES)('$name', (given) => {
  it('survives every power cut and every failed operation', async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      expect(await cutPower({ ...given, seed }, 24)).toBeGreaterThan(200);
      expect(await failOperations({ ...given, seed }, 1)).toBeGreaterThan(100);
    }
  });
});
