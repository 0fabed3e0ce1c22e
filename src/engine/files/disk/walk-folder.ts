import { corrupt } from './io-error.ts';
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
