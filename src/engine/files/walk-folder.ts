import type { StoreFiles } from './store-files.ts';

/** Every file below a folder of the store. One that goes away meanwhile is passed over. */
export async function* walkFolder(files: StoreFiles, folder: string): AsyncGenerator<string> {
  for (const name of await files.io.list(files.pathOf(folder))) {
    const path = `${folder}/${name}`;
    const stat = await files.io.stat(files.pathOf(path));
    if (stat?.kind === 'folder') yield* walkFolder(files, path);
    else if (stat !== undefined) yield path;
  }
}
