import type { Io } from '../../engine/io.ts';
import { lockOf } from '../log/session-names.ts';
import { withFileLock } from '../log/with-file-lock.ts';
import { coverFile, coveredBy, readSums } from './file-sums.ts';

/**
 * Accepts lines that others wrote as they are now. If that cannot be noted, the next call accepts them as they are
 * then.
 */
export async function coverSeen(io: Io, path: string): Promise<void> {
  try {
    const size = (await io.stat(path))?.size ?? 0;
    if (coveredBy(await readSums(io, path)) >= size) return;
    await withFileLock(io, lockOf(path), () => coverFile(io, path));
  } catch {
    // The folder cannot be written to, or the file has just been moved.
  }
}
