import { accessSync, constants, existsSync, statfsSync } from 'node:fs';

/** Less than SQLite needs to open a database, or than a file system can give in pieces. */
const ROOM_BYTES = 64 * 1024;

export type Trouble = 'gone' | 'read-only' | 'full';

/**
 * Finds the reason why nothing can be done in a folder, by looking at the folder after something failed. SQLite says
 * "disk I/O error" or "unable to open" for all of these.
 */
export function findTrouble(path: string): Trouble | undefined {
  if (!existsSync(path)) return 'gone';
  try {
    accessSync(path, constants.W_OK);
  } catch {
    return 'read-only';
  }
  const { bavail, bsize, files, ffree } = statfsSync(path);
  // Some file systems do not count files, and report zero for both.
  return bavail * bsize < ROOM_BYTES || (files > 0 && ffree === 0) ? 'full' : undefined;
}
