import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** A file system in memory, where there is one. */
const MEMORY = '/dev/shm';
/** Far more than all tests hold at a time. */
const ROOM_BYTES = 4 * 1024 ** 3;

/**
 * Where tests keep their stores and files: in memory, where there is room. They open stores by the thousand, and
 * waiting for a disk took half of their time; what a disk may do to a store is the matter of the tests over an
 * `Io` that loses, tears and lies, and of those that are kept on the real one.
 */
export function scratchFolder(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
