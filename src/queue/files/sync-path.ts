import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Puts a file on the disk, or the names in a folder. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
