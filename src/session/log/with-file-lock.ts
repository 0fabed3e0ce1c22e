import { dirname } from 'node:path';
import { isQuipuError } from '../../base/errors.ts';
import type { Io, IoLock } from '../../engine/io.ts';

/** Held for a few writes at a time, so that whoever waits longer than this waits for something stuck. */
const WAIT_MS = 30_000;
const PAUSE_MS_MAX = 20;

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
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    try {
      return await io.lock(path, `process ${process.pid}`);
    } catch (error) {
      if (isMissing(error)) await io.mkdir(dirname(path));
      else if (!isQuipuError(error, 'LOCKED') || Date.now() > until) throw error;
      // Not always the same pause: those who wait together would meet again and again.
      else await pause(pauseMs * (0.5 + Math.random()));
    }
  }
}

/** SQLite says only that it cannot open the file. */
function isMissing(error: unknown): boolean {
  const code = (error as { code?: string }).code;
  return code === 'ENOENT' || code === 'SQLITE_CANTOPEN' || isNoDirectory(error);
}

function isNoDirectory(error: unknown): boolean {
  return error instanceof TypeError && error.message.includes('directory does not exist');
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
