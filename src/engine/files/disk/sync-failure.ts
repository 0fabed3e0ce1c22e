import type { Io, IoFile } from '../../io.ts';

/** Could not even be tried; nothing was lost, and trying again is sound. */
const NOT_TRIED = new Set(['EMFILE', 'ENFILE']);

/**
 * A sync that failed. The kernel may have dropped the pages it could not write and call them clean,
 * so a second sync proves nothing: whoever sees this stops acknowledging.
 */
export class SyncFailure extends Error {
  constructor(cause: unknown) {
    super('a sync failed', { cause });
    this.name = 'SyncFailure';
  }
}

export async function syncFile(file: IoFile): Promise<void> {
  await guard(() => file.sync());
}

export async function syncFolder(io: Io, path: string): Promise<void> {
  await guard(() => io.syncDir(path));
}

async function guard(sync: () => Promise<void>): Promise<void> {
  try {
    await sync();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code !== undefined && NOT_TRIED.has(code) ? error : new SyncFailure(error);
  }
}
