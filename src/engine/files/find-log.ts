import { isQuipuError } from '../../base/errors.ts';
import type { Core } from './core.ts';
import { type LogState, readExtentState } from './tables/line-log.ts';

type ReadState = (
  work: (core: Core) => Promise<LogState | undefined>,
) => Promise<LogState | undefined>;

/** A log that ends elsewhere than it should keeps all lines before that; only writers are refused. */
export async function findLog(read: ReadState, name: string): Promise<LogState | undefined> {
  try {
    return await read((core) => core.getLogState(name));
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    // As far as the extents tell; without any, it is as damaged as it was.
    return read(
      async (core) => (await readExtentState(core.files, name)) ?? (await core.getLogState(name)),
    );
  }
}
