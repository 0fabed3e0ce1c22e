import { QuipuError, orNothing } from '../../../base/errors.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const READ_ONLY = new Set(['EROFS', 'EACCES', 'EPERM']);

/** The operating system's error code, where SQLite uses its own words. */
function errnoOf(code: string | undefined): string | undefined {
  if (code?.startsWith('SQLITE_') !== true) return code;
  if (code === 'SQLITE_FULL') return 'ENOSPC';
  return /^SQLITE_(READONLY|PERM)/.test(code) ? 'EACCES' : 'EIO';
}

/**
 * A sync that failed. The kernel may have dropped the pages that it could not write and call them clean. So a
 * second sync proves nothing, and the caller must stop acknowledging.
 */
export class SyncFailure extends Error {
  constructor(cause: unknown) {
    super('a sync failed', { cause });
    this.name = 'SyncFailure';
  }
}

/** Runs `work`, whose errors get their stable codes. */
export async function withCodes<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toQuipuError(error, path);
  }
}

/** Gives an operating system's error its stable code and says what to do. Other errors pass unchanged. */
export function toQuipuError(error: unknown, path: string): Error {
  if (error instanceof QuipuError) return error;
  if (error instanceof SyncFailure) return toQuipuError(error.cause, path);
  const errno = errnoOf((error as NodeJS.ErrnoException | undefined)?.code);
  if (!(error instanceof Error)) return new Error(String(error));
  if (errno === undefined) return error;
  const cause = { cause: error };
  if (FULL.has(errno)) {
    return new QuipuError(
      'DISK_FULL',
      `there is no room to write ${path} (${errno}); nothing was stored. Free some space and try again; reads continue meanwhile`,
      { path },
      cause,
    );
  }
  if (READ_ONLY.has(errno)) {
    return new QuipuError(
      'READ_ONLY',
      `${path} cannot be written (${errno}); check the owner and mode of the store's folder, and that its file system is mounted for writing`,
      { path },
      cause,
    );
  }
  const hint =
    errno === 'EMFILE' || errno === 'ENFILE'
      ? 'too many files are open; raise the limit (ulimit -n) and try again'
      : 'check the disk and its cables, then open the store again';
  return new QuipuError('IO', `${path}: ${errno}; ${hint}`, { path, errno }, cause);
}

/** Whether the only problem was a lack of room. */
export function isNoRoom(error: unknown): boolean {
  const errno = errnoOf((error as NodeJS.ErrnoException | undefined)?.code);
  return errno === 'DISK_FULL' || (errno !== undefined && FULL.has(errno));
}

/** Undefined when there is no room for the work. Then `onFull` is called. */
export async function ifRoom<T>(
  work: () => Promise<T>,
  onFull: () => void = () => undefined,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isNoRoom(error)) throw error;
    onFull();
    return undefined;
  }
}

/** A write with an unknown outcome: it may be there when the store is opened again, or not. */
export function unknownOutcome(error: unknown, path: string): QuipuError<'IO'> {
  const errno = (error as NodeJS.ErrnoException | undefined)?.code ?? 'EIO';
  return new QuipuError(
    'IO',
    `the sync of ${path} failed (${errno}). The store acknowledges nothing until you open it again. Then retry this write with the same idempotency key`,
    { path, errno, outcome: 'unknown' },
    { cause: error },
  );
}

/** The advice for data that can be rebuilt from the rest of the store. */
export const REPAIR = 'run "quipu verify --repair", which makes it again';

/** Damage found at a place. `what` completes the sentence "<file> at byte <offset>: …", `advice` says what to do. */
export function corrupt(
  file: string,
  offset: number,
  what: string,
  advice = 'restore the file from a backup',
): QuipuError<'CORRUPT'> {
  return new QuipuError(
    'CORRUPT',
    `${file} at byte ${offset}: ${what}. Nothing was changed; ${advice}`,
    { file, offset },
  );
}

/** For callers that go on without the damaged data. A read of that data, and a check, report the damage. */
export function unlessCorrupt<T>(read: () => Promise<T>): Promise<T | undefined> {
  return orNothing(read, 'CORRUPT');
}
