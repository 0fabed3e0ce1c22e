import { describe } from 'vitest';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { besideSuite } from './beside.ts';
import { changedSuite } from './changed.ts';
import { damageSuite } from './damage.ts';
import { factsSuite } from './facts.ts';
import { keepingSuite } from './keeping.ts';
import { lifeSuite } from './life.ts';
import { refusalsSuite } from './refusals.ts';

/** The behaviour of sessions that every store must have. Their files are on this machine wherever the store is. */
export function sessionSuite(target: StoreTarget): void {
  describe(`sessions on ${target.name}`, () => {
    lifeSuite(target);
    keepingSuite(target);
    factsSuite(target);
    damageSuite(target);
    changedSuite(target);
    besideSuite(target);
    refusalsSuite(target);
  });
}
