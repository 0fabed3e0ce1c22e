import type { Engine, Progress } from '../engine/engine.ts';
import type { CheckReport } from '../engine/upkeep.ts';

export interface VerifyOptions {
  /** Rebuild everything that can be rebuilt, and copy damaged records to `quarantine/`. */
  readonly repair?: boolean;
  readonly progress?: Progress;
}

export interface VerifyReport extends CheckReport {
  /** True when nothing is wrong; after a repair: when nothing is wrong any more. */
  readonly ok: boolean;
}

export async function verifyStore(
  engine: Engine,
  { repair = false, progress }: VerifyOptions = {},
): Promise<VerifyReport> {
  const report = await engine.upkeep.check({ repair, ...(progress !== undefined && { progress }) });
  return { ok: isClean(report, repair), ...report };
}

/** A repair mends stale records, and can only set lost ones aside. */
function isClean({ problems, more }: CheckReport, repaired: boolean): boolean {
  return more === 0 && problems.every(({ severity }) => repaired && severity === 'stale');
}
