import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { QuipuError, invalid, notFound, locked } from '../../base/errors.ts';
import { TOKEN_FILE_BYTES_MAX, TOKENS_MAX, decodeTokenList, encodeTokenList } from './token.ts';
import type { TokenRecord } from './token.ts';

// The file that lists the valid tokens. The file lies in the store's folder and is no part of the store. A backup
// leaves it out, because a copy that travels must not admit everyone who was admitted here.
// Invariants
// - The file is replaced as a whole: a reader sees the list before or the list after.
// - `<file>.new` is made by one process only, which makes it the lock of a change.

/** The name of the token file in a store's folder; the engine keeps logs and documents away from it. */
const TOKEN_FILE = 'tokens.json';
const MODE = 0o600;
const WAIT_MS = 2000;
const POLL_MS = 20;

export function tokenFileOf(store: string): string {
  return join(store, TOKEN_FILE);
}

/** A stamp that tells one content of the file from another without reading it. */
export async function stampOfTokenFile(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'missing';
    throw toIoError(error, path);
  }
}

/** Reads the tokens; a missing file has none. INVALID when the file is damaged, or when others may write to it. */
export async function readTokenFile(path: string): Promise<readonly TokenRecord[]> {
  let text: string;
  try {
    const { mode, size } = await stat(path);
    if (process.platform !== 'win32' && (mode & 0o022) !== 0) {
      throw invalid('token file', `${path} can be written by others; run: chmod 600 ${path}`);
    }
    if (size > TOKEN_FILE_BYTES_MAX) {
      throw invalid('token file', `${path} has more than ${TOKEN_FILE_BYTES_MAX} bytes`);
    }
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw toIoError(error, path);
  }
  return decodeTokenList(text);
}

/** Replaces the list by the result of `change`. Durable when this resolves; nothing happens when this throws. */
export async function changeTokenFile(
  path: string,
  change: (records: readonly TokenRecord[]) => readonly TokenRecord[],
): Promise<void> {
  const aside = `${path}.new`;
  const file = await openAlone(aside);
  try {
    try {
      const records = change(await readTokenFile(path));
      if (records.length > TOKENS_MAX) {
        throw invalid('token', `is one too many: a file holds ${TOKENS_MAX}; revoke some first`);
      }
      await file.writeFile(encodeTokenList(records));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw toIoError(error, path);
  }
  await syncFolder(dirname(path));
}

/** Changes are short, so a change by another process is over in a moment. */
async function openAlone(aside: string): Promise<Awaited<ReturnType<typeof open>>> {
  const giveUpAt = Date.now() + WAIT_MS;
  for (;;) {
    try {
      return await open(aside, 'wx', MODE);
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw toIoError(error, aside);
    }
    if (Date.now() >= giveUpAt) {
      throw locked(
        'token file',
        'another process',
        `someone else is changing the tokens; if no other "quipu token" runs, one was killed: remove ${aside}`,
      );
    }
    await sleep(POLL_MS);
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isErrno(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === code;
}

function toIoError(error: unknown, path: string): Error {
  const errno = (error as NodeJS.ErrnoException | undefined)?.code;
  if (error instanceof QuipuError || errno === undefined) return error as Error;
  if (errno === 'ENOENT') {
    return notFound('folder', dirname(path), `there is no folder for ${path}`);
  }
  const message = `cannot use the token file ${path}: ${errno}`;
  return new QuipuError('IO', message, { path, errno }, { cause: error });
}
