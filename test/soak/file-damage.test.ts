import { expect, it } from 'vitest';
import { damagesOf, makeScene, meet } from '../health/file-damage.ts';
import type { Verdict } from '../health/file-damage.ts';

// Every file of every kind, deleted, emptied, cut, zeroed, and with a bit flipped in many places: see the quick version
// in `test/health` for what must hold.

const FLIPS = 60;

it.each(['closed', 'killed'] as const)(
  'a damaged file of a store that was %s is detected, harmless or rebuilt, and verify says so',
  async (how) => {
    using scene = await makeScene(how);
    const count: Record<Verdict, number> = {
      harmless: 0,
      rebuilt: 0,
      'lost in part': 0,
      'not opened': 0,
    };
    for (const damage of damagesOf(scene, FLIPS, 7)) count[await meet(scene, damage)] += 1;
    expect(count.rebuilt).toBeGreaterThan(100);
    expect(count['lost in part']).toBeGreaterThan(300);
  },
);
