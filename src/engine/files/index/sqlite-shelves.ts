import { existsSync, renameSync } from 'node:fs';
import { cleanMarkPath, isSmall, removeDatabase, takeCleanMark } from './open-database.ts';
import { MEMORY } from '../../../base/sqlite.ts';
import type { Shelf, ShelfSource } from './shelf.ts';
import { SqliteShelf, isDamage } from './sqlite-shelf.ts';

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

/**
 * Opens the shelf at `path`. A shelf that is missing, damaged or of another schema comes back empty. A shelf whose
 * file cannot be used also comes back empty, in memory.
 */
export function openSqliteShelf(path: string): Shelf {
  try {
    const mark = existsSync(path) ? takeCleanMark(path) : 'bad';
    if (mark !== 'bad') {
      try {
        return openExisting(path, mark === 'good');
      } catch (error) {
        if (!isDamage(error)) throw error;
      }
    }
    removeDatabase(path);
    return new SqliteShelf(path);
  } catch {
    return openMemoryShelf();
  }
}

function openMemoryShelf(): Shelf {
  return new SqliteShelf(MEMORY);
}

function openExisting(path: string, known: boolean): Shelf {
  const shelf = new SqliteShelf(path);
  try {
    if (!known && isSmall(path)) shelf.verify();
    return shelf;
  } catch (error) {
    shelf.abandon();
    throw error;
  }
}
