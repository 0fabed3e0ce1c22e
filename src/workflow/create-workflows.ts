import type { Hash } from '../base/brand.ts';
import { Lifetime } from '../base/lifetime.ts';
import { OneAtATime } from '../base/one-at-a-time.ts';
import type { Engine } from '../engine/engine.ts';
import { bundleVerbs } from './bundle-verbs.ts';
import { readVerbs } from './read-verbs.ts';
import { runVerbs } from './run/run-verbs.ts';
import { stepVerbs } from './step-verbs.ts';
import { threadVerbs } from './thread-verbs.ts';
import type { WorkflowWorld } from './workflow-world.ts';
import type { Workflows } from './workflows.ts';

export interface WorkflowsOptions {
  readonly lifetime?: Lifetime;
  readonly clock?: () => number;
}

export function createWorkflows(
  engine: Engine,
  { lifetime = new Lifetime(), clock = Date.now }: WorkflowsOptions = {},
): Workflows {
  const world: WorkflowWorld = { engine, lifetime, clock, changes: new OneAtATime<Hash>() };
  return {
    bundles: bundleVerbs(world),
    ...stepVerbs(world),
    ...threadVerbs(world),
    ...readVerbs(world),
    ...runVerbs(world),
  };
}
