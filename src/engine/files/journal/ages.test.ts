import { describe, expect, it } from 'vitest';
import { type Age, ageBefore, noteAge, wasThere } from './checkpoint-file.ts';

const age = (ms: number, nextPack = 3, length = 100): Age => ({
  ms,
  nextPack,
  packs: [{ number: 2, length }],
});

describe('ages of blobs', () => {
  it('knows what was there: closed packs whole, open ones up to their length', () => {
    expect(wasThere(age(0), 1, 1e9)).toBe(true);
    expect(wasThere(age(0), 2, 99)).toBe(true);
    expect(wasThere(age(0), 2, 100)).toBe(false);
    expect(wasThere(age(0), 3, 0)).toBe(false);
  });

  it('finds the newest note that is old enough', () => {
    const ages = [age(1000), age(5000), age(9000)];
    expect(ageBefore(ages, 10_000, 1000)?.ms).toBe(9000);
    expect(ageBefore(ages, 10_000, 1001)?.ms).toBe(5000);
    expect(ageBefore(ages, 10_000, 9001)).toBeUndefined();
  });

  it('covers years with a few notes, none of them more than a third too old', () => {
    let ages: readonly Age[] = [];
    const step = 60_000;
    const end = 500_000 * step;
    for (let ms = 0; ms <= end; ms += step) ages = noteAge(ages, age(ms));
    expect(ages.length).toBeLessThan(80);
    for (const grace of [10 * step, 1000 * step, 100_000 * step]) {
      const found = end - (ageBefore(ages, end, grace)?.ms ?? 0);
      expect(found).toBeGreaterThanOrEqual(grace);
      expect(found).toBeLessThan(grace * 1.4);
    }
    expect(ages[0]?.ms).toBe(0);
  });
});
