import { describe, expect, it } from 'vitest';
import { pauseMs } from './pause.ts';

describe('pauseMs', () => {
  it('grows to a second and no further', () => {
    expect(pauseMs(0)).toBeLessThanOrEqual(10);
    for (const attempt of [7, 20, 5000]) {
      expect(pauseMs(attempt)).toBeGreaterThanOrEqual(500);
      expect(pauseMs(attempt)).toBeLessThanOrEqual(1000);
    }
  });
});
