import { describe } from 'vitest';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { badInputSuite } from './bad-input.ts';
import { eraseSuite } from './erase.ts';
import { randomProgramsSuite } from './random-programs.ts';
import { historySuite } from './history.ts';
import { readsSuite } from './reads.ts';
import { runSuite } from './run.ts';
import { threadsSuite } from './threads.ts';

/** The behaviour of workflow threads and bundles that every store must have. */
export function workflowSuite(target: StoreTarget): void {
  describe(`workflows on ${target.name}`, () => {
    threadsSuite(target);
    historySuite(target);
    readsSuite(target);
    badInputSuite(target);
    eraseSuite(target);
    randomProgramsSuite(target);
    runSuite(target);
  });
}
