import { isQuipuError } from '../../../base/errors.ts';
import { toQuipuError } from '../disk/io-error.ts';
import type { StateWriter } from './state.ts';

/**
 * Runs a read, again if need be. While a frame reaches the files, a read may find half of it, which looks like damage.
 * Between two frames nothing moves, so a repeated read tells whether this is damage. A read is also repeated when the
 * index was at fault and had to be rebuilt.
 */
export async function readSteadily<T>(writer: StateWriter, read: () => Promise<T>): Promise<T> {
  let apart = false;
  for (let mended = false; ;) {
    const before = writer.moves;
    try {
      return await (apart ? writer.exclusively(read) : read());
    } catch (error) {
      const isMoving = before % 2 === 1 || before !== writer.moves;
      if (isQuipuError(error, 'CORRUPT') && isMoving && !apart) apart = true;
      else if (mended || !(await writer.mendBetween(error))) {
        throw toQuipuError(error, writer.core.files.root);
      } else mended = true;
    }
  }
}
