import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hashBytes } from '../../../base/hash.ts';

// SQLite does not notice every flipped bit: a changed key makes a row impossible to find. So while a small file is
// closed, a hash of the whole file lies beside it. Larger files rely on their row checksums: reading them whole
// would cost more than opening may take.

/** Up to this size a file is checked as a whole when it is opened. */
export const CHECKED_BYTES_MAX: number = 16 * 1024 * 1024;

/** `unmarked`: the file was not closed cleanly, or is too large for a mark. */
export type CleanMark = 'good' | 'bad' | 'unmarked';

/** Tells whether the file is unchanged since it was closed, and removes the mark: from now on the file may change. */
export function takeCleanMark(path: string): CleanMark {
  const markPath = cleanMarkPath(path);
  if (!existsSync(markPath)) return 'unmarked';
  const mark = readFileSync(markPath, 'latin1');
  rmSync(markPath);
  return isSmall(path) && mark === hashBytes(readFileSync(path)) ? 'good' : 'bad';
}

/** Call this when the file is closed and will not change. */
export function leaveCleanMark(path: string): void {
  if (!isSmall(path)) return;
  try {
    writeFileSync(cleanMarkPath(path), hashBytes(readFileSync(path)), { mode: 0o600 });
  } catch {
    // There is no room. Without the mark, the next opening checks for itself. Half a mark would indicate damage.
    rmSync(cleanMarkPath(path), { force: true });
  }
}

export function isSmall(path: string): boolean {
  return existsSync(path) && statSync(path).size <= CHECKED_BYTES_MAX;
}

export function cleanMarkPath(path: string): string {
  return `${path}-clean`;
}
