import type { Hash } from '../base/brand.ts';
import { Lifetime } from '../base/lifetime.ts';
import { LruCache } from '../base/lru-cache.ts';
import { OneAtATime } from '../base/one-at-a-time.ts';
import type { Engine } from '../engine/engine.ts';
import { bundleVerbs } from './bundles/bundles.ts';
import type { ReadArtifact, WorkflowsHome } from './home/workflows-home.ts';
import { readVerbs } from './read-verbs.ts';
import type { Workflows } from './threads/workflows.ts';
import { runVerbs, threadVerbs } from './write-verbs.ts';

export interface WorkflowsOptions {
  readonly lifetime?: Lifetime;
  readonly clock?: () => number;
  readonly readArtifact?: ReadArtifact;
  /** Default 10 seconds. */
  readonly quickMs?: number;
}

const QUICK_MS_DEFAULT = 10_000;
/** Threads that are under way at once, and a few more. */
const ROUNDS_KNOWN_MAX = 1000;

export function createWorkflows(engine: Engine, options: WorkflowsOptions = {}): Workflows {
  const home: WorkflowsHome = {
    lifetime: new Lifetime(),
    clock: Date.now,
    quickMs: QUICK_MS_DEFAULT,
    ...options,
    engine,
    changes: new OneAtATime<Hash>(),
    rounds: new LruCache<Hash, number>(ROUNDS_KNOWN_MAX, () => 1),
  };
  return home.lifetime.guard('workflows', {
    bundles: home.lifetime.guard('workflows.bundles', bundleVerbs(home)),
    ...threadVerbs(home),
    ...readVerbs(home),
    ...runVerbs(home),
  });
}
