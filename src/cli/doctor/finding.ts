import { toTable } from '../kit/text.ts';

export type Grade = 'ok' | 'warn' | 'fail';

/** The result of one check. */
export interface Finding {
  /** A word or two, the same each time. */
  readonly check: string;
  readonly grade: Grade;
  /** The observation. */
  readonly found: string;
  /** The next step for the user, when the grade is not ok. */
  readonly advice?: string;
}

export function ok(check: string, found: string): Finding {
  return { check, grade: 'ok', found };
}

export function warn(check: string, found: string, advice: string): Finding {
  return { check, grade: 'warn', found, advice };
}

export function fail(check: string, found: string, advice: string): Finding {
  return { check, grade: 'fail', found, advice };
}

export function toFindingsTable(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ check, grade, found, advice }) => [
    [grade, check, found],
    ...(advice === undefined ? [] : [['', '', `> ${advice}`]]),
  ]);
  return toTable(['', 'CHECK', 'FOUND'], rows);
}
