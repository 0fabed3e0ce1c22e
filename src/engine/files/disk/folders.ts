import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Io } from '../../io.ts';
import { syncFolder } from './file-handles.ts';
import { corrupt, SyncFailure } from './io-error.ts';
import type { StoreFiles } from './store-files.ts';

/** The sorted names in a folder that every store has, waiting writes included. */
export async function listFolder(files: StoreFiles, folder: string): Promise<string[]> {
  const names = await files.list(folder);
  if (names === undefined) throw corrupt(folder, 0, 'the folder is missing');
  return names;
}

/** Every file below a folder of the store. Skips a file that goes away meanwhile. */
export async function* walkFolder(files: StoreFiles, folder: string): AsyncGenerator<string> {
  for (const name of await listFolder(files, folder)) yield* walkName(files, `${folder}/${name}`);
}

async function* walkName(files: StoreFiles, path: string): AsyncGenerator<string> {
  const stat = await files.io.stat(files.pathOf(path));
  const waits = stat === undefined && (await files.size(path)) > 0;
  if (stat?.kind === 'file' || stat?.kind === 'other' || waits) yield path;
  else for (const name of (await files.list(path)) ?? []) yield* walkName(files, `${path}/${name}`);
}

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
