import { existsSync, renameSync } from 'node:fs';
import type { ShelfSource } from './shelf.ts';
import { cleanMarkPath } from './clean-mark.ts';
import { removeDatabase } from './open-database.ts';
import { openMemoryShelf, openSqliteShelf } from './open-shelf.ts';

/** The shelf at `path`, and a new one built in a file beside it. */
export function sqliteShelves(path: string): ShelfSource {
  const aside = `${path}.new`;
  return {
    open: () => openSqliteShelf(path),
    create(inMemory) {
      if (inMemory === true) return openMemoryShelf();
      removeDatabase(aside);
      return openSqliteShelf(aside);
    },
    install(fresh, old) {
      old.close();
      if (fresh.inMemory === true) return fresh;
      fresh.close();
      removeDatabase(path);
      // A crash between the two steps leaves a mark that fits no file, or none. Both end in a rebuild.
      renameSync(aside, path);
      if (existsSync(cleanMarkPath(aside))) renameSync(cleanMarkPath(aside), cleanMarkPath(path));
      return openSqliteShelf(path);
    },
  };
}
