import { isQuipuError } from '../../base/errors.ts';
import type { Core } from './core.ts';
import type { LogState } from './tables/line-log.ts';

type ReadState = (
  work: (core: Core) => Promise<LogState | undefined>,
) => Promise<LogState | undefined>;

/** A log that ends elsewhere than it should keeps all lines before that; only writers are refused. */
export async function findLog(read: ReadState, name: string): Promise<LogState | undefined> {
  try {
    return await read((core) => core.getLogState(name));
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    return read((core) => core.getDamagedLog(name));
  }
}
