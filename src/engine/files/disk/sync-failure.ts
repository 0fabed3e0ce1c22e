import type { Io, IoFile } from '../../io.ts';

/** The sync could not even be tried. Nothing was lost, and a retry is safe. */
const NOT_TRIED = new Set(['EMFILE', 'ENFILE']);

/**
 * A sync that failed. The kernel may have dropped the pages that it could not write and call them clean. So a
 * second sync proves nothing, and the caller must stop acknowledging.
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
