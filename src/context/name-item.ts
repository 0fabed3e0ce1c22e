import { QuipuError, isQuipuError } from '../base/errors.ts';

/** Runs the check of one item of a list. Its error then names the item. */
export function namingItem<T>(item: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw nameItem(item, error);
  }
}

/** Returns the same error about `item`, as in "turns[3]: type has a control character". */
export function nameItem(item: string, error: unknown): unknown {
  if (!isQuipuError(error)) return error;
  const message = `${item}: ${error.message}`;
  const data =
    isQuipuError(error, 'INVALID') || isQuipuError(error, 'TOO_LARGE')
      ? { ...error.data, what: whatIn(item, error.data.what) }
      : error.data;
  return new QuipuError(error.code, message, data, { cause: error });
}

function whatIn(item: string, what: string): string {
  return what === 'turn' ? item : `${item}.${what}`;
}
