import { describe } from 'vitest';

import { adoptionSuite } from './adoption.ts';
import { atomicitySuite } from './atomicity.ts';
import { blobSuite } from './blobs.ts';
import { concurrencySuite } from './concurrency.ts';
import { contextSuite } from './contexts.ts';
import { docSuite } from './docs.ts';
import type { EngineTarget } from './engine-target.ts';
import { forkKeySuite } from './fork-keys.ts';
import { headMoveSuite } from './head-moves.ts';
import { idempotencySuite } from './idempotency.ts';
import { lifecycleSuite } from './lifecycle.ts';
import { logSuite } from './logs.ts';
import { modelComparisonSuite } from './model-comparison.ts';
import { fsRootSuite } from './fs-roots.ts';
import { nameSuite } from './names.ts';
import { openTurnSuite } from './open-turns.ts';
import { patchSuite } from './patches.ts';
import { subscriptionSuite } from './subscriptions.ts';
import { tipsSuite } from './tips.ts';
import { turnSuite } from './turns.ts';
import { upkeepSuite } from './upkeep.ts';

/** The contract of `Engine` as tests. Call this in a test file, once per engine. */
export function engineSuite(target: EngineTarget): void {
  describe(`engine: ${target.name}`, () => {
    blobSuite(target);
    turnSuite(target);
    contextSuite(target);
    nameSuite(target);
    headMoveSuite(target);
    openTurnSuite(target);
    patchSuite(target);
    fsRootSuite(target);
    tipsSuite(target);
    logSuite(target);
    docSuite(target);
    atomicitySuite(target);
    idempotencySuite(target);
    forkKeySuite(target);
    concurrencySuite(target);
    subscriptionSuite(target);
    lifecycleSuite(target);
    upkeepSuite(target);
    adoptionSuite(target);
    modelComparisonSuite(target);
  });
}
