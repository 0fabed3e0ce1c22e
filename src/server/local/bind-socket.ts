import { rmSync } from 'node:fs';
import { writeOwnerNote } from '../../engine/files/disk/owner-note.ts';
import type { OwnerNote } from '../../engine/files/disk/owner-note.ts';
import { shortPlace, usualPlace } from './socket-place.ts';

/**
 * Listens where others look for the owner of `folder`. False when there is no place for a socket; then the owner's note
 * tells the others. Only the holder of the folder's lock may call this: a socket that exists already belongs to an
 * owner that is gone.
 */
export async function bindSocket(
  folder: string,
  durability: OwnerNote['durability'] & string,
  listen: (path: string) => Promise<unknown>,
): Promise<boolean> {
  const usual = usualPlace(folder);
  if (usual !== undefined && (await listenAnew(usual, listen))) return true;
  const short = shortPlace(folder);
  // The note is written before the socket listens: a process that finds the socket must know what its owner promises.
  if (short !== undefined) writeOwnerNote(folder, { durability, shares: true, socket: short });
  const isBound = short !== undefined && (await listenAnew(short, listen));
  if (!isBound) writeOwnerNote(folder, { durability, shares: false });
  return isBound;
}

/** False when the system allows no socket there, for whatever reason. */
async function listenAnew(
  path: string,
  listen: (path: string) => Promise<unknown>,
): Promise<boolean> {
  try {
    rmSync(path, { force: true });
    await listen(path);
    return true;
  } catch {
    return false;
  }
}
