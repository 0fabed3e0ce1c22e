import { type QuipuError, locked } from '../base/errors.ts';
import { unavailable } from '../client/transport.ts';
import { dialTo } from '../client/socket/dial.ts';
import type { Dial } from '../client/socket/dial.ts';
import { nameOwner, readOwnerNote } from '../engine/files/disk/owner-note.ts';
import { placeOf } from '../server/local/owner-socket.ts';

export type Durability = 'safe' | 'unsafe';

/**
 * Begins a connection to the owner that the folder has by then. Leaves an owner that promises less than was asked for
 * before anything is sent.
 */
export function dialOwner(folder: string, wanted: Durability): Dial {
  return () => {
    const path = placeOf(folder, readOwnerNote(folder));
    if (path === undefined)
      throw unavailable('the process that has the store open names no socket');
    const dialled = dialTo({ kind: 'unix', path })();
    const { socket } = dialled;
    // Not earlier: the owner that is connected now wrote its note before it listened.
    socket.once('connect', () => {
      const problem = findWeakness(folder, wanted);
      if (problem !== undefined) socket.destroy(problem);
    });
    return dialled;
  };
}

/** LOCKED when the owner acknowledges before the disk does, and a caller here relies on the disk. */
export function findWeakness(folder: string, wanted: Durability): QuipuError<'LOCKED'> | undefined {
  const note = readOwnerNote(folder);
  if (wanted === 'unsafe' || note?.durability !== 'unsafe') return undefined;
  const owner = nameOwner(note);
  return locked(
    'store',
    owner,
    `the store at ${folder} is in use by ${owner}, which opened it as unsafe; close it there, or ask for durability: "unsafe" here too`,
  );
}
