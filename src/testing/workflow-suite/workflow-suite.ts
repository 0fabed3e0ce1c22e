import { describe } from 'vitest';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { badInputSuite } from './bad-input.ts';
import { eraseSuite } from './erase.ts';
import { randomProgramsSuite } from './random-programs.ts';
import { readsSuite } from './reads.ts';
import { runSuite } from './run.ts';
import { threadsSuite } from './threads.ts';

/** What every store does with workflow threads and bundles. */
export function workflowSuite(target: StoreTarget): void {
  describe(`workflows on ${target.name}`, () => {
    threadsSuite(target);
    readsSuite(target);
    badInputSuite(target);
    eraseSuite(target);
    randomProgramsSuite(target);
    runSuite(target);
  });
}
