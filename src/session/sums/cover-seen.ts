import type { Io } from '../../engine/io.ts';
import { lockOf } from '../log/session-names.ts';
import { withFileLock } from '../log/with-file-lock.ts';
import { coverFile, coveredBy, readSums } from './file-sums.ts';

/** Takes lines that others wrote as they are now. Where that cannot be noted, they are taken as they are next time. */
export async function coverSeen(io: Io, path: string): Promise<void> {
  try {
    const size = (await io.stat(path))?.size ?? 0;
    if (coveredBy(await readSums(io, path)) >= size) return;
    await withFileLock(io, lockOf(path), () => coverFile(io, path));
  } catch {
    // A folder that cannot be written to, or a file that has just been moved.
  }
}
