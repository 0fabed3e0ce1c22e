import { closeSync, openSync } from 'node:fs';

/**
 * Makes an empty file that only its owner can read, where there is none: SQLite would let others read it. An
 * existing file is not even opened: closing it would end every lock that this process has on it.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
