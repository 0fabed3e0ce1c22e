import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { QuipuError } from '../../base/errors.ts';
import type { Io, IoFile } from '../../engine/io.ts';

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
    const file = await io.open(draft, 'create');
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
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
