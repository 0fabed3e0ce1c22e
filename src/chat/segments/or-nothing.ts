import { isQuipuError } from '../../base/errors.ts';

/** What is lost or damaged is made again, so here that is as good as missing. */
export async function orNothing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isQuipuError(error, 'CORRUPT') || isQuipuError(error, 'NOT_FOUND')) return undefined;
    throw error;
  }
}
