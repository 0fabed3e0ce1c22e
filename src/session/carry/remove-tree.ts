import { join } from 'node:path';
import type { Io } from '../../engine/io.ts';

/** Removes a folder with all that is in it; a missing folder is no error. Links are removed, not followed. */
export async function removeTree(io: Io, path: string): Promise<void> {
  const kind = (await io.stat(path))?.kind;
  if (kind === undefined) return;
  if (kind !== 'folder') {
    await io.remove(path);
    return;
  }
  for (const name of await io.list(path)) await removeTree(io, join(path, name));
  await io.removeFolder(path);
}

/** Removes from `copy` every file that `original` has as well, and then the folder if nothing else is in it. */
export async function removeCarried(io: Io, original: string, copy: string): Promise<void> {
  if ((await io.stat(copy))?.kind !== 'folder') return;
  const originals = (await io.stat(original))?.kind === 'folder' ? await io.list(original) : [];
  for (const name of originals) {
    const target = join(copy, name);
    const kind = (await io.stat(target))?.kind;
    if (kind === 'folder') await removeCarried(io, join(original, name), target);
    else if (kind === 'file') await io.remove(target);
  }
  if ((await io.list(copy)).length === 0) await io.removeFolder(copy);
}
