import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keepNewest, keepOldest } from './read-pages.ts';

const sizes = (...of: number[]): { size: number }[] => of.map((size) => ({ size }));

describe('cutting a page', () => {
  it('drops whole turns from one end', () => {
    expect(keepOldest(sizes(1, 2, 3), 3)).toEqual(sizes(1, 2));
    expect(keepNewest(sizes(3, 2, 1), 3)).toEqual(sizes(2, 1));
  });

  it('keeps one turn however large it is', () => {
    expect(keepOldest(sizes(9, 1), 3)).toEqual(sizes(9));
    expect(keepNewest(sizes(1, 9), 3)).toEqual(sizes(9));
    expect(keepNewest([], 3)).toEqual([]);
  });

  it('keeps as many as fit and never more', () => {
    const items = fc.array(
      fc.nat(20).map((size) => ({ size })),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(items, fc.nat(100), (all, maxBytes) => {
        const kept = keepOldest(all, maxBytes);
        const bytes = kept.reduce((sum, { size }) => sum + size, 0);
        expect(kept).toEqual(all.slice(0, kept.length));
        expect(bytes <= maxBytes || kept.length === 1).toBe(true);
        const next = all[kept.length]?.size ?? Infinity;
        expect(bytes + next).toBeGreaterThan(maxBytes);
        expect(keepNewest(all.toReversed(), maxBytes)).toEqual(kept.toReversed());
      }),
    );
  });
});
