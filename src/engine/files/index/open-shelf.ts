import { existsSync } from 'node:fs';
import { isSmall, takeCleanMark } from './clean-mark.ts';
import { MEMORY, removeDatabase } from './open-database.ts';
import type { Shelf } from './shelf.ts';
import { isDamage, SqliteShelf } from './sqlite-shelf.ts';

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

export function openMemoryShelf(): Shelf {
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
