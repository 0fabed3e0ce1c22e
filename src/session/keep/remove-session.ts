import { dirname } from 'node:path';
import { QuipuError } from '../../base/errors.ts';
import { removeTree } from '../carry/remove-tree.ts';
import { artifactsFolderOf, lockOf, tornFileOf } from '../log/session-names.ts';
import { withFileLock } from '../log/with-file-lock.ts';
import { makeFolders, toFileError } from '../log/write-file.ts';
import { removeSums } from '../sums/file-sums.ts';
import type { SessionsWorld } from '../sessions-world.ts';
import { childrenOf } from './child-sessions.ts';
import type { SessionRecord } from './registry.ts';

/**
 * Removes the file, the artifacts, and the store's record. A part that is gone already is no error. Blobs are left to a
 * garbage collection.
 */
export async function removeSession(world: SessionsWorld, record: SessionRecord): Promise<void> {
  const { io, registry } = world;
  const { id, file } = record;
  await makeFolders(io, dirname(file));
  await withFileLock(io, lockOf(file), async () => {
    try {
      await io.remove(file);
      await io.remove(tornFileOf(file));
      await removeSums(io, file);
      await io.syncDir(dirname(file));
    } catch (error) {
      throw toFileError(error, file);
    }
  });
  for (const child of await childrenOf(world, file)) await registry.remove(child.id);
  // A copy made by hand goes alone: the session is another file.
  if ((await registry.get(id))?.file === file) await registry.remove(id);
  await registry.forgetCopy(file);
  await io.remove(lockOf(file)).catch(() => undefined);
  const folder = artifactsFolderOf(file);
  if (folder === undefined) return;
  try {
    await removeTree(io, folder);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new QuipuError(
      'IO',
      `Session file deleted but failed to remove artifacts directory ${folder}: ${reason}`,
      { path: folder, errno: (error as { code?: string }).code ?? 'EIO' },
      { cause: error },
    );
  }
}
