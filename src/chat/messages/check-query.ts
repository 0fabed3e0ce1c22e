import { invalid } from '../../base/errors.ts';
import { checkId } from '../names.ts';

/** A branch to read, or `*` for all of them. */
export function checkBranch(branch: unknown): string {
  return branch === '*' ? branch : checkId(branch, 'branch');
}

export function checkCount(value: number, what: string, max: number): void {
  if (Number.isSafeInteger(value) && value >= 0 && value <= max) return;
  throw invalid(what, `is a whole number from 0 to ${max}, got ${String(value)}`);
}
