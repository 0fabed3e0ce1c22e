import { describe, expect, it } from 'vitest';
import { groupPacks, planPacks } from './pack-places.ts';

const USES = [
  { pack: 1, liveBytes: 90, deadBytes: 10, places: 5 },
  { pack: 2, liveBytes: 50, deadBytes: 50, places: 4 },
  { pack: 3, liveBytes: 0, deadBytes: 70, places: 3 },
  { pack: 4, liveBytes: 100, deadBytes: 0, places: 20 },
];

describe('planning which packs to rewrite', () => {
  it('takes the packs that are dead enough, those without anything alive first', () => {
    const { rewrite, keptDeadBytes } = planPacks(USES, 0.5);
    expect(rewrite.map(({ pack }) => pack)).toEqual([3, 2]);
    expect(keptDeadBytes).toBe(10);
  });

  it('takes every pack with anything dead when the share is 0, and no other', () => {
    expect(planPacks(USES, 0).rewrite.map(({ pack }) => pack)).toEqual([3, 2, 1]);
    expect(planPacks(USES, 0).keptDeadBytes).toBe(0);
  });
});

describe('grouping packs by what is remembered of them', () => {
  const groups = (placesMax: number): number[][] =>
    [...groupPacks(USES, placesMax)].map((group) => group.map(({ pack }) => pack));

  it('fills groups in order, and gives a pack that is too large one of its own', () => {
    expect(groups(9)).toEqual([[1, 2], [3], [4]]);
    expect(groups(1)).toEqual([[1], [2], [3], [4]]);
    expect(groups(100)).toEqual([[1, 2, 3, 4]]);
    expect([...groupPacks([], 9)]).toEqual([]);
  });
});
