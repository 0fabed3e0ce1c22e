import { isQuipuError } from '../../base/errors.ts';

/** Lost or damaged data is made again, so here it counts as missing. */
export async function orNothing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isQuipuError(error, 'CORRUPT') || isQuipuError(error, 'NOT_FOUND')) return undefined;
    throw error;
  }
}
