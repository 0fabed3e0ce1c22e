import { basename, dirname, join } from 'node:path';
import { createSha256 } from '../../base/hash.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { SUMS_FOLDER, sumsOf } from './file-sums.ts';
import { isErrno, makeFolders, withOpen, writeAll, writeWhole } from './write-file.ts';

const PIECE_BYTES = 1024 * 1024;

/** A file system reports one of these where two names for one file are not possible. */
const NO_LINKS = ['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

export interface CarryOptions {
  /** Returns true for files that may share their bytes with the original: those that never change again. */
  shares(name: string): boolean;
  /** Called for each file that has its place already. */
  renew?(from: string, to: string): Promise<void>;
}

/**
 * Gives every file of a folder and its subfolders a place in another folder. Files that are there already are not
 * touched, except by `renew`. Hidden files belong to the folder itself and stay behind, except checksums. The result is durable when this
 * resolves.
 */
export async function carryFolder(
  io: Io,
  from: string,
  to: string,
  options: CarryOptions,
): Promise<void> {
  await makeFolders(io, to);
  for (const name of await io.list(from)) {
    if (name.startsWith('.') && name !== SUMS_FOLDER) continue;
    const source = join(from, name);
    const target = join(to, name);
    const kind = (await io.stat(source))?.kind;
    if (kind === 'folder') await carryFolder(io, source, target, options);
    else if (kind === 'file') await carryFile(io, source, target, options);
  }
  await io.syncDir(to);
}

async function carryFile(io: Io, from: string, to: string, options: CarryOptions): Promise<void> {
  if (options.shares(basename(from))) {
    try {
      await io.link(from, to);
      return;
    } catch (error) {
      if (isErrno(error, 'EEXIST')) return;
      if (!NO_LINKS.some((code) => isErrno(error, code))) throw error;
    }
  }
  if ((await io.stat(to)) !== undefined) await options.renew?.(from, to);
  else await copyFile({ io, path: from }, { io, path: to });
}

export interface FilePlace {
  readonly io: Io;
  readonly path: string;
}

/** Copies a file, reads the copy back, and compares, so that the caller may remove the original. */
export async function copyFile(from: FilePlace, to: FilePlace): Promise<void> {
  await withOpen(from.io, from.path, 'read', async (source) => {
    const size = await source.size();
    await writeWhole(to.io, to.path, async (target) => {
      const sum = await copyBytes(source, { target, from: 0, to: size, at: 0 });
      const check = createSha256();
      for await (const piece of pieces(target, 0, size)) check.update(piece);
      if (check.digest() === sum) return;
      throw Object.assign(new Error(`the copy of ${from.path} differs`), { code: 'EIO' });
    });
  });
}

/** Copies a file in the same way, and its checksums, where there are any. */
export async function copyWithSums(io: Io, from: string, to: string): Promise<void> {
  await copyFile({ io, path: from }, { io, path: to });
  const [source, target] = [sumsOf(from), sumsOf(to)];
  if ((await io.stat(source)) === undefined) return;
  await makeFolders(io, dirname(target));
  await copyFile({ io, path: source }, { io, path: target });
}

/** Copies a part of a file, and returns its SHA-256. */
async function copyBytes(
  source: IoFile,
  part: { target: IoFile; from: number; to: number; at: number },
): Promise<string> {
  const sum = createSha256();
  let at = part.at;
  for await (const piece of pieces(source, part.from, part.to)) {
    await writeAll(part.target, piece, at);
    sum.update(piece);
    at += piece.length;
  }
  return sum.digest();
}

export interface Part {
  readonly from: number;
  readonly to: number;
}

/** Writes a line, and behind it parts of another file. */
export async function writeBehind(
  line: Uint8Array,
  source: IoFile,
  { target, parts }: { readonly target: IoFile; readonly parts: readonly Part[] },
): Promise<void> {
  await writeAll(target, line, 0);
  let at = line.length;
  for (const { from, to } of parts) {
    await copyBytes(source, { target, from, to, at });
    at += to - from;
  }
}

async function* pieces(
  file: IoFile,
  from: number,
  to: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = from; at < to;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, to - at));
    const got = await file.read(piece, at);
    if (got === 0) throw Object.assign(new Error('the file became shorter'), { code: 'EIO' });
    yield piece.subarray(0, got);
    at += got;
  }
}

/** Removes a folder with all that is in it; a missing folder is no error. Links are removed, not followed. */
export async function removeTree(io: Io, path: string): Promise<void> {
  const kind = (await io.stat(path))?.kind;
  if (kind === undefined) return;
  if (kind !== 'folder') return io.remove(path);
  for (const name of await io.list(path)) await removeTree(io, join(path, name));
  await io.removeFolder(path);
}

/** Removes from `copy` every file that `original` has as well, and then the folder if nothing else is in it. */
export async function removeCarried(io: Io, original: string, copy: string): Promise<void> {
  if ((await io.stat(copy))?.kind !== 'folder') return;
  const originals = (await io.stat(original))?.kind === 'folder' ? await io.list(original) : [];
  for (const name of originals) {
    const target = join(copy, name);
    const kind = (await io.stat(target))?.kind;
    if (kind === 'folder') await removeCarried(io, join(original, name), target);
    else if (kind === 'file') await io.remove(target);
  }
  if ((await io.list(copy)).length === 0) await io.removeFolder(copy);
}
