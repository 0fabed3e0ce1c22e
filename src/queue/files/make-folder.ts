import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncPath } from './sync-path.ts';

/**
 * Makes the folder and its parents, for their owner alone, each durable in the one above. Folders that exist are
 * synced, too: a process that died may just have made them. Where that is not allowed, others made them long ago. This
 * works one level after the other: where nothing can be made, such as in /proc, asking for all at once never ends.
 */
export function makeFolder(path: string): void {
  const parent = dirname(path);
  if (parent === path) return;
  makeFolder(parent);
  const isNew = makeOne(path);
  try {
    syncPath(parent);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (isNew || (code !== 'EACCES' && code !== 'EPERM')) throw error;
  }
}

function makeOne(path: string): boolean {
  if (existsSync(path)) return false;
  try {
    mkdirSync(path, 0o700);
    return true;
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}
