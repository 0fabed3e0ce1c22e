import { encodeMark } from '../../../format/mark.ts';
import type { IoFile } from '../../io.ts';

/**
 * Leaves a mark that frame `seq` was acknowledged. The mark is not synced: after a power cut it can only say too
 * little, never too much.
 */
export async function leaveMark(mark: IoFile, seq: number): Promise<void> {
  try {
    await mark.write(encodeMark(seq), 0);
  } catch {
    // Without the mark, a damaged last frame is taken for a torn one. The commit itself is safe.
  }
}
