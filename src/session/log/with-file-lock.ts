import { dirname } from 'node:path';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { Io, IoLock } from '../../engine/io.ts';
import { isErrno, toFileError } from './write-file.ts';

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
      else await pause(pauseMs * (0.5 + Math.random()));
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
    if (isErrno(error, 'ENOENT')) throw noFolder(dirname(folder), error);
    throw toFileError(error, folder);
  }
  if (times < TIMES_MAX) return;
  const message = `${folder} cannot be used as a folder; see whether something else has its name`;
  throw new QuipuError('IO', message, { path: folder, errno: 'ENOTDIR' });
}

function noFolder(path: string, cause: unknown): QuipuError<'NOT_FOUND'> {
  const data = { what: 'folder', id: path };
  return new QuipuError('NOT_FOUND', `there is no folder ${path}`, data, { cause });
}

/** SQLite says only that it cannot open the file. */
function isMissing(error: unknown): boolean {
  const code = (error as { code?: string }).code;
  const isErrnoOfPlace = code === 'ENOENT' || code === 'ENOTDIR';
  return isErrnoOfPlace || code === 'SQLITE_CANTOPEN' || isNoDirectory(error);
}

function isNoDirectory(error: unknown): boolean {
  return error instanceof TypeError && error.message.includes('directory does not exist');
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
