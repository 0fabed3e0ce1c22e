import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { toFileError } from './input.ts';
import type { QuipuShell } from './command.ts';

export interface Output extends AsyncDisposable {
  write(data: string | Uint8Array): Promise<void>;
  /** Without this call, a file that was begun is removed again. */
  complete(): Promise<void>;
}

/** Standard output, or a file that appears under its name only when it is complete and on disk. */
export async function openOutput(shell: QuipuShell, path: string | undefined): Promise<Output> {
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
      throw toFileError(error, path);
    }
  };
  const file = await inFileWords(() => open(partial, 'wx'));
  return {
    // `writeFile` on a handle goes on from its position and does not stop at a short write.
    write: (data) => inFileWords(() => file.writeFile(data)),
    complete: () =>
      inFileWords(async () => {
        await file.sync();
        await file.close();
        await rename(partial, target);
      }),
    [Symbol.asyncDispose]: async () => {
      await file.close();
      await rm(partial, { force: true });
    },
  };
}
