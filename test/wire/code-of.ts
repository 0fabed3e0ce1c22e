import { isQuipuError } from '../../src/base/errors.ts';

/** The code of the error that a call throws; 'none' when it throws none. */
export function codeOf(call: () => unknown): string {
  try {
    call();
    return 'none';
  } catch (error) {
    return isQuipuError(error) ? error.code : String(error);
  }
}
