import { describe } from 'vitest';
import { appendSuite } from './append.ts';
import { badInputSuite } from './bad-input.ts';
import { blobsSuite } from './blobs.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { eraseSuite } from './erase.ts';
import { followSuite } from './follow.ts';
import { fsRootsSuite } from './fs-roots.ts';
import { healthSuite } from './health.ts';
import { idsSuite } from './ids.ts';
import { lifeSuite } from './life.ts';
import { listingSuite } from './listing.ts';
import { manageSuite } from './manage.ts';
import { movesSuite } from './moves.ts';
import { namesSuite } from './names.ts';
import { patchesSuite } from './patches.ts';
import { payloadsSuite } from './payloads.ts';
import { readsSuite } from './reads.ts';
import { streamingSuite } from './streaming.ts';
import { treeSuite } from './tree.ts';

/** The behaviour of contexts, turns and blobs that every store must have. */
export function contextsSuite(target: ContextsTarget): void {
  describe(`contexts on ${target.name}`, () => {
    manageSuite(target);
    listingSuite(target);
    namesSuite(target);
    movesSuite(target);
    appendSuite(target);
    payloadsSuite(target);
    readsSuite(target);
    treeSuite(target);
    patchesSuite(target);
    fsRootsSuite(target);
    streamingSuite(target);
    followSuite(target);
    badInputSuite(target);
    idsSuite(target);
    blobsSuite(target);
    healthSuite(target);
    eraseSuite(target);
    lifeSuite(target);
  });
}
