import { SqliteError } from 'better-sqlite3';
import { ShelfDamaged } from './shelf.ts';

// What SQLite's errors mean for a shelf.

/** Reading never fails on a healthy file, whatever SQLite calls the failure. */
export function asRead<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw toDamage(error);
  }
}

/** The file is as it was, and takes nothing: no room, no right, someone else at it, a disk that fails. */
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
