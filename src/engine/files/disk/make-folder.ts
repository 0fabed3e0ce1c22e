import { dirname } from 'node:path';
import type { Io } from '../../io.ts';
import { SyncFailure, syncFolder } from './file-handles.ts';

/**
 * Makes the folder and its parents, each durable in the one above. Existing folders are synced, too: a process that
 * died may just have made them. Where syncing is not allowed, others made the folder long ago.
 */
export async function makeFolder(io: Io, path: string): Promise<void> {
  const parent = dirname(path);
  if (parent === path) return;
  await makeFolder(io, parent);
  const isNew = (await io.stat(path)) === undefined;
  if (isNew) await io.mkdir(path);
  try {
    await syncFolder(io, parent);
  } catch (error) {
    const cause = error instanceof SyncFailure ? error.cause : error;
    const { code } = cause as NodeJS.ErrnoException;
    if (isNew || (code !== 'EACCES' && code !== 'EPERM')) throw error;
  }
}
