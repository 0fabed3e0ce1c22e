import { describe } from 'vitest';

import type { Capability } from '../../engine/engine.ts';

/** Runs the tests when the target is capable; otherwise the report shows them skipped, with the reason. */
export function describeWhen(capability: Capability, title: string, tests: () => void): void {
  if (capability === true) describe(title, tests);
  else describe.skip(`${title} (skipped: ${capability.missing})`, tests);
}
