import { describe, expect, it } from 'vitest';
import { CASES, cutPower, failOperations } from './backup-scenes.ts';

describe.each(CASES)('$name', (given) => {
  it('is the old backup, the new one, or none after a power cut', { timeout: 90_000 }, async () => {
    expect(await cutPower(given, 3)).toBeGreaterThan(50);
  });

  it(
    'is one of these after a failed operation, which is reported',
    { timeout: 90_000 },
    async () => {
      expect(await failOperations(given, 31)).toBeGreaterThan(100);
    },
  );
});
