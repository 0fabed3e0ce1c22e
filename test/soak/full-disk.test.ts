import { describe, expect, it } from 'vitest';
import { becomeFullAnywhere, WORKS } from '../health/full-disk.ts';

describe('a disk that becomes full', { timeout: 600_000 }, () => {
  it.each(WORKS)('at every moment of opening and of: $name', async (work) => {
    expect(await becomeFullAnywhere(work, 1)).toBeGreaterThan(10);
  });
});
