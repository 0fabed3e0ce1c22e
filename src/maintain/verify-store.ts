import type { Engine, Progress } from '../engine/engine.ts';
import type { CheckReport } from '../engine/upkeep.ts';

export interface VerifyOptions {
  /** Make again what can be made again, and copy damaged records to `quarantine/`. */
  readonly repair?: boolean;
  readonly progress?: Progress;
}

export interface VerifyReport extends CheckReport {
  /** Nothing is wrong; after a repair also: nothing is wrong any more. */
  readonly ok: boolean;
}

export async function verifyStore(
  engine: Engine,
  { repair = false, progress }: VerifyOptions = {},
): Promise<VerifyReport> {
  const report = await engine.upkeep.check({ repair, ...(progress !== undefined && { progress }) });
  return { ok: isClean(report, repair), ...report };
}

/** A repair mends what is stale and can only set aside what is lost. */
export function isClean({ problems, more }: CheckReport, repaired: boolean): boolean {
  return more === 0 && problems.every(({ severity }) => repaired && severity === 'stale');
}
