import { SqliteError } from 'better-sqlite3';
import { ShelfDamaged } from './shelf.ts';

// Maps SQLite's errors to their meaning for a shelf.

/** Reading never fails on a healthy file, so every failure means damage, whatever SQLite calls it. */
export function asRead<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw toDamage(error);
  }
}

/** The file is unchanged and cannot be written: no room, no permission, in use elsewhere, or a failing disk. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof SqliteError)) return false;
  return /^SQLITE_(FULL|IOERR|READONLY|PERM|CANTOPEN|BUSY|LOCKED)/.test(error.code);
}

export function isDamage(error: unknown): boolean {
  if (error instanceof ShelfDamaged) return true;
  if (!(error instanceof SqliteError)) return false;
  return /^SQLITE_(CORRUPT|NOTADB|ERROR|MISMATCH|FORMAT)/.test(error.code);
}

export function toDamage(error: unknown): unknown {
  if (!(error instanceof SqliteError)) return error;
  return new ShelfDamaged(error.message, { cause: error });
}
