import { rmSync } from 'node:fs';
import { writeOwnerNote } from '../../engine/files/disk/owner-note.ts';
import type { OwnerNote } from '../../engine/files/disk/owner-note.ts';
import { shortPlace, usualPlace } from './socket-place.ts';

/** A socket that the other processes of this machine can find. */
export interface BoundSocket<T> {
  readonly path: string;
  readonly bound: T;
}

/**
 * Listens where others look for the owner of `folder`. Undefined when there is no place for a socket; then the owner's
 * note tells the others. Only the holder of the folder's lock may call this: a socket that exists already belongs to an
 * owner that is gone.
 */
export async function bindSocket<T>(
  folder: string,
  durability: OwnerNote['durability'] & string,
  listen: (path: string) => Promise<T>,
): Promise<BoundSocket<T> | undefined> {
  const usual = usualPlace(folder);
  if (usual !== undefined) {
    const bound = await listenAnew(usual, listen);
    if (bound !== undefined) return bound;
  }
  const short = shortPlace(folder);
  // The note is written before the socket listens: a process that finds the socket must know what its owner promises.
  if (short !== undefined) writeOwnerNote(folder, { durability, shares: true, socket: short });
  const bound = short === undefined ? undefined : await listenAnew(short, listen);
  if (bound === undefined) writeOwnerNote(folder, { durability, shares: false });
  return bound;
}

/** Undefined when the system allows no socket there, for whatever reason. */
async function listenAnew<T>(
  path: string,
  listen: (path: string) => Promise<T>,
): Promise<BoundSocket<T> | undefined> {
  try {
    rmSync(path, { force: true });
    return { path, bound: await listen(path) };
  } catch {
    return undefined;
  }
}
