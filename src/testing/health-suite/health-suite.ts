import { describe } from 'vitest';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { collectingSuite } from './collecting.ts';
import { erasingSuite } from './erasing.ts';
import { verifyingSuite } from './verifying.ts';

/** Tests that every store stays healthy, beyond the suite of contexts. */
export function healthSuite(target: StoreTarget): void {
  describe(`health on ${target.name}`, () => {
    collectingSuite(target);
    verifyingSuite(target);
    erasingSuite(target);
  });
}
