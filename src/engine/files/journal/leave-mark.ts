import { encodeMark } from '../../../format/mark.ts';
import type { IoFile } from '../../io.ts';

/**
 * Leaves word that frame `seq` was acknowledged. Not synced: it can only say too little after a power
 * cut, never too much.
 */
export async function leaveMark(mark: IoFile, seq: number): Promise<void> {
  try {
    await mark.write(encodeMark(seq), 0);
  } catch {
    // Without the mark, a damaged last frame passes for a torn one; the commit itself is safe.
  }
}
