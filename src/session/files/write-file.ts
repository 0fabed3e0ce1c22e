import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { Io, IoFile, IoLock } from '../../engine/io.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Gives an operating system's error a stable code. Others pass unchanged. */
export function toFileError(error: unknown, path: string): Error {
  if (error instanceof QuipuError) return error;
  const errno = (error as { code?: string }).code;
  if (!(error instanceof Error)) return new Error(String(error));
  if (errno === undefined) return error;
  const cause = { cause: error };
  if (FULL.has(errno)) {
    const message = `no room to write ${path} (${errno}); free some space and try again`;
    return new QuipuError('DISK_FULL', message, { path }, cause);
  }
  return new QuipuError('IO', `${path}: ${errno}`, { path, errno }, cause);
}

export function isErrno(error: unknown, code: string): boolean {
  return (error as { code?: unknown } | undefined)?.code === code;
}

/** Opens a file for as long as `task` takes. */
export async function withOpen<T>(
  io: Io,
  path: string,
  mode: 'read' | 'write' | 'create',
  task: (file: IoFile) => Promise<T>,
): Promise<T> {
  const file = await io.open(path, mode);
  try {
    return await task(file);
  } finally {
    await file.close();
  }
}

/** Reads a file from its beginning to its end, or returns undefined when there is none. */
export async function readWhole(io: Io, path: string): Promise<Buffer | undefined> {
  try {
    return await withOpen(io, path, 'read', async (file) => readBytes(file, await file.size()));
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return undefined;
    throw toFileError(error, path);
  }
}

/** Reads the beginning of a file. */
export async function readBytes(file: IoFile, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, await file.read(bytes, 0));
}

/** A short write is a failure: half a line must never pass for a whole one. */
export async function writeAll(file: IoFile, bytes: Uint8Array, position: number): Promise<void> {
  const written = await file.write(bytes, position);
  if (written === bytes.length) return;
  const error = new Error(`short write: ${written} of ${bytes.length} bytes`);
  throw Object.assign(error, { code: 'ENOSPC' });
}

/** A name in the same folder under which a file is made before it gets its own. Listings never show it. */
export function draftPathOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(4).toString('hex')}.part`);
}

export function isDraftName(name: string): boolean {
  return /^\..+\.[0-9a-f]{8}\.part$/.test(name);
}

/**
 * Makes or replaces a file as a whole: readers see the old one or the new one, and the new one is durable when this
 * resolves. After a failure the old one is intact and nothing is left behind, as far as the disk allows.
 */
export async function writeWhole(
  io: Io,
  path: string,
  write: (file: IoFile) => Promise<void>,
): Promise<void> {
  const draft = draftPathOf(path);
  try {
    await withOpen(io, draft, 'create', async (file) => {
      await write(file);
      await file.sync();
    });
    await io.rename(draft, path);
    await io.syncDir(dirname(path));
  } catch (error) {
    await io.remove(draft).catch(() => undefined);
    throw toFileError(error, path);
  }
}

/** Makes the folder and those above it, each durable in the one above. */
export async function makeFolders(io: Io, path: string): Promise<void> {
  if ((await io.stat(path))?.kind === 'folder') return;
  const parent = dirname(path);
  if (parent !== path) await makeFolders(io, parent);
  try {
    await io.mkdir(path);
    await io.syncDir(parent);
  } catch (error) {
    throw toFileError(error, path);
  }
}

/** The lock is held for a few writes at a time. A process that waits longer than this waits for something stuck. */
const WAIT_MS = 30_000;
const PAUSE_MS_MAX = 20;
const TIMES_MAX = 5;

/** Runs `task` while nobody else, in this process or another, holds the lock at `path`. */
export async function withFileLock<T>(io: Io, path: string, task: () => Promise<T>): Promise<T> {
  const lock = await takeLock(io, path);
  try {
    return await task();
  } finally {
    await lock.release();
  }
}

async function takeLock(io: Io, path: string): Promise<IoLock> {
  const until = Date.now() + WAIT_MS;
  let made = 0;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    try {
      return await io.lock(path, `process ${process.pid}`);
    } catch (error) {
      if (isMissing(error)) await makePlace(io, path, ++made);
      else if (!isQuipuError(error, 'LOCKED') || Date.now() > until) throw toFileError(error, path);
      // The pause varies: processes that wait together would meet again and again.
      else await setTimeout(pauseMs * (0.5 + Math.random()));
    }
  }
}

/**
 * Another process may remove the folder again at the same moment. A process that finds it gone time after time gives
 * up.
 */
async function makePlace(io: Io, path: string, times: number): Promise<void> {
  const folder = dirname(path);
  try {
    await io.mkdir(folder);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw toFileError(error, folder);
    const id = dirname(folder);
    const data = { what: 'folder', id };
    throw new QuipuError('NOT_FOUND', `there is no folder ${id}`, data, { cause: error });
  }
  if (times < TIMES_MAX) return;
  const message = `${folder} cannot be used as a folder; see whether something else has its name`;
  throw new QuipuError('IO', message, { path: folder, errno: 'ENOTDIR' });
}

/** SQLite says only that it cannot open the file. */
function isMissing(error: unknown): boolean {
  if (error instanceof TypeError) return error.message.includes('directory does not exist');
  return ['ENOENT', 'ENOTDIR', 'SQLITE_CANTOPEN'].some((code) => isErrno(error, code));
}
