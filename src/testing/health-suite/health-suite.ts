import { describe } from 'vitest';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { collectingSuite } from './collecting.ts';
import { erasingSuite } from './erasing.ts';
import { verifyingSuite } from './verifying.ts';

/** How every store is kept healthy, beyond what the suite of contexts says of it. */
export function healthSuite(target: StoreTarget): void {
  describe(`health on ${target.name}`, () => {
    collectingSuite(target);
    verifyingSuite(target);
    erasingSuite(target);
  });
}
