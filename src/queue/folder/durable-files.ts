import { existsSync, mkdirSync, closeSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { dirname, extname } from 'node:path';

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

/** Syncs a file, or the names in a folder, to the disk. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Gives a file the name `<name>-<YYYYMMDD-HHmmss>.<ext>`, with a number behind it when that is taken. The caller keeps
 * others out, so that no name is taken between the look and the move. Returns false when there is no file.
 */
export function putAside(path: string, nowMs: number): boolean {
  if (!existsSync(path)) return false;
  const end = extname(path);
  const base = `${path.slice(0, path.length - end.length)}-${toStamp(nowMs)}`;
  let target = `${base}${end}`;
  for (let number = 2; existsSync(target); number += 1) target = `${base}-${number}${end}`;
  renameSync(path, target);
  return true;
}

/** In UTC. */
function toStamp(nowMs: number): string {
  const [day = '', time = ''] = new Date(nowMs).toISOString().split('T');
  return `${day.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}
