import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { exists, isQuipuError, type QuipuError } from '../../base/errors.ts';
import { toFileError } from './input.ts';
import { option, type OptionOf } from './verb.ts';
import type { QuipuShell } from './command.ts';

export interface Output extends AsyncDisposable {
  write(data: string | Uint8Array): Promise<void>;
  /** Without this call, a file that was begun is removed again. */
  complete(): Promise<void>;
}

export interface OutGiven {
  readonly out?: string;
  readonly force?: boolean;
}

/** The options of every command that writes to a file. */
export const OUT_OPTIONS: readonly OptionOf<OutGiven>[] = [
  option('--out <file>', 'write to this file; it appears when it is complete'),
  option('--force', 'with --out: replace an existing file'),
];

/**
 * Standard output, or a file that appears under its name only when it is complete and on disk. EXISTS for a file that is
 * there, unless `force` is given.
 */
export async function openOutput(
  shell: QuipuShell,
  { out: path, force = false }: OutGiven,
): Promise<Output> {
  if (path === undefined || path === '-') {
    return {
      write: (data) => shell.out(data),
      complete: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const target = resolve(shell.cwd, path);
  const partial = `${target}.${randomBytes(4).toString('hex')}.partial`;
  const inFileWords = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw isQuipuError(error) ? error : toFileError(error, path);
    }
  };
  // Looked at first: an export may take an hour.
  if (!force && existsSync(target)) throw fileExists(path);
  const file = await inFileWords(() => open(partial, 'wx'));
  return {
    // `writeFile` on a handle goes on from its position and does not stop at a short write.
    write: (data) => inFileWords(() => file.writeFile(data)),
    complete: () =>
      inFileWords(async () => {
        await file.sync();
        await file.close();
        if (force) await rename(partial, target);
        else await moveToNew(partial, target, path);
      }),
    [Symbol.asyncDispose]: async () => {
      await file.close();
      await rm(partial, { force: true });
    },
  };
}

/** A link fails where a rename would take the place of a file that came meanwhile. */
async function moveToNew(partial: string, target: string, path: string): Promise<void> {
  try {
    await link(partial, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw fileExists(path);
    // The file system has no links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error;
    await rename(partial, target);
    return;
  }
  await rm(partial);
}

function fileExists(path: string): QuipuError<'EXISTS'> {
  return exists('file', path, `there is a file ${path}; add --force to replace it`);
}
