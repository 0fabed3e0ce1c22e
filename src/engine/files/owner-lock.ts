import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { QuipuError } from '../../base/errors.ts';
import type { IoLock } from '../io.ts';
import { takeExclusiveLock } from './exclusive-lock.ts';
import { OWNER_FILE, nameOwner, readOwnerNote } from './owner-note.ts';

// The owner of a store holds the lock on `lock.db`. Nobody can read a database that is locked exclusively,
// so the owner's name stands in `owner.json` beside it; that file alone means nothing.

export function takeOwnerLock(path: string, owner: string): IoLock {
  const folder = dirname(path);
  const ownerPath = join(folder, OWNER_FILE);
  const unlock = takeExclusiveLock(path, 0);
  if (unlock === undefined) {
    const holder = nameOwner(readOwnerNote(folder));
    throw new QuipuError(
      'LOCKED',
      `the store at ${folder} is in use by ${holder}; close it there, or open the store elsewhere`,
      { what: 'store', owner: holder },
    );
  }
  try {
    fs.writeFileSync(ownerPath, owner, { mode: 0o600 });
  } catch (error) {
    // Nobody would ever let go of the lock.
    unlock();
    throw error;
  }
  let held = true;
  return {
    async release() {
      if (!held) return;
      held = false;
      try {
        fs.rmSync(ownerPath, { force: true });
      } finally {
        unlock();
      }
    },
  };
}
