import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { QuipuError, invalid } from '../base/errors.ts';
import type { QuipuShell } from './shell.ts';

const READ_BYTES = 256 * 1024;

/** Yields a file in pieces, or standard input for `-`. Errors name the file as it was given. */
export async function* readInput(shell: QuipuShell, path: string): AsyncIterable<Uint8Array> {
  if (path === '-') {
    yield* shell.stdin;
    return;
  }
  const file = createReadStream(resolve(shell.cwd, path), { highWaterMark: READ_BYTES });
  try {
    yield* file as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw toFileError(error, path);
  }
}

/** Reads the whole source, or throws TOO_LARGE without reading on. */
export async function readWhole(
  source: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source) {
    size += piece.length;
    if (size > limit) {
      throw new QuipuError('TOO_LARGE', `the input has more than ${limit} bytes`, {
        what: 'input',
        limit,
        size,
      });
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Turns an error of the file system into an error of the store. */
export function toFileError(error: unknown, path: string): Error {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') {
    return new QuipuError('NOT_FOUND', `there is no file ${path}`, { what: 'file', id: path });
  }
  if (code === 'EISDIR') return invalid('file', `${path} is a directory`);
  if (code === 'ENOSPC') {
    return new QuipuError('DISK_FULL', `the disk is full, writing ${path}`, { path });
  }
  if (code === '') return error as Error;
  return new QuipuError(
    'IO',
    `cannot use ${path}: ${(error as Error).message}`,
    { path, errno: code },
    { cause: error },
  );
}
