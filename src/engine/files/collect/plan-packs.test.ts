import { describe, expect, it } from 'vitest';
import { planPacks } from './plan-packs.ts';

const USES = [
  { pack: 1, liveBytes: 90, deadBytes: 10 },
  { pack: 2, liveBytes: 50, deadBytes: 50 },
  { pack: 3, liveBytes: 0, deadBytes: 70 },
  { pack: 4, liveBytes: 100, deadBytes: 0 },
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
