import type { Io, IoFile } from '../../io.ts';
import { SyncFailure } from './io-error.ts';

// Files of a store: handles that are shared by name, writes that are whole, syncs that are certain.
// Invariant: a handle is closed only when it is not in use and has nothing to sync.

/** The sync could not even be tried. Nothing was lost, and a retry is safe. */
const NOT_TRIED = new Set(['EMFILE', 'ENFILE']);

/** There may be many packs and logs. This many handles stay open between uses. */
const IDLE_HANDLES = 96;

export type OpenMode = 'read' | 'write' | 'create';

interface Handle {
  readonly file: IoFile;
  users: number;
  /** True when the file's name is gone. The last user closes the handle. */
  dropped: boolean;
}

interface Files {
  open(name: string, mode: OpenMode): Promise<IoFile>;
  mustSync(name: string): boolean;
}

/** Open files by name: one handle each, shared by all users. */
export class FileHandles {
  readonly #files: Files;
  readonly #handles = new Map<string, Handle>();
  /** Closes of dropped handles that are not done. */
  readonly #closing = new Set<Promise<void>>();
  #drops = 0;

  constructor(files: Files) {
    this.#files = files;
  }

  /** Counts names that were removed or replaced. */
  get drops(): number {
    return this.#drops;
  }

  async use<T>(name: string, mode: OpenMode, work: (file: IoFile) => Promise<T>): Promise<T> {
    const open = this.#handles.get(name);
    if (open !== undefined) open.users += 1;
    const handle = open ?? (await this.#open(name, mode));
    try {
      return await work(handle.file);
    } finally {
      handle.users -= 1;
      if (handle.dropped && handle.users === 0) this.#closeDropped(handle.file);
    }
  }

  /** Call this after a name was removed or replaced: its older handles must not be used any more. */
  drop(name: string): void {
    this.#drops += 1;
    const handle = this.#handles.get(name);
    if (handle === undefined) return;
    this.#handles.delete(name);
    handle.dropped = true;
    if (handle.users === 0) this.#closeDropped(handle.file);
  }

  async close(): Promise<void> {
    const files = [...this.#handles.values()].map(({ file }) => file);
    this.#handles.clear();
    await closeAll(files.map((file) => () => file.close()));
    await Promise.all(this.#closing);
  }

  /** Nobody waits for this: it takes long for a large file, and no byte of the file is needed any more. */
  #closeDropped(file: IoFile): void {
    const closed: Promise<void> = file
      .close()
      .catch(() => undefined)
      .finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  /** The caller already counts as a user: at no moment does the handle look idle. */
  async #open(name: string, mode: OpenMode): Promise<Handle> {
    await this.#closeIdle();
    const drops = this.#drops;
    const file = await this.#files.open(name, mode);
    const raced = this.#handles.get(name);
    if (raced !== undefined) {
      raced.users += 1;
      await file.close();
      return raced;
    }
    if (this.#drops !== drops) {
      // The name may refer to another file by now.
      await file.close();
      return this.#open(name, mode);
    }
    const handle: Handle = { file, users: 1, dropped: false };
    this.#handles.set(name, handle);
    return handle;
  }

  async #closeIdle(): Promise<void> {
    if (this.#handles.size < IDLE_HANDLES) return;
    for (const [name, handle] of this.#handles) {
      if (handle.users > 0 || this.#files.mustSync(name)) continue;
      this.#handles.delete(name);
      await handle.file.close();
      if (this.#handles.size < IDLE_HANDLES / 2) return;
    }
  }
}

/** Opens a file, and closes it once `work` is done. */
export async function withFile(
  io: Io,
  path: string,
  mode: OpenMode,
  work: (file: IoFile) => Promise<void>,
): Promise<void> {
  const file = await io.open(path, mode);
  await closeAll([() => work(file), () => file.close()]);
}

/** A short write is an error: half a record must never pass for a whole one. */
export async function writeFully(file: IoFile, bytes: Uint8Array, position: number): Promise<void> {
  const written = await file.write(bytes, position);
  if (written !== bytes.length) throw shortWrite(written, bytes.length);
}

export function shortWrite(written: number, length: number): Error {
  const error = new Error(`short write: ${written} of ${length} bytes`);
  return Object.assign(error, { code: 'ENOSPC' });
}

/**
 * Makes a file with these bytes alone, after zeros up to `position`. They are durable when this resolves, and its name
 * once the folder is synced.
 */
export async function writeNew(
  io: Io,
  path: string,
  bytes: Uint8Array,
  position = 0,
): Promise<void> {
  await withFile(io, path, 'create', async (file) => {
    await file.truncate(0);
    if (bytes.length > 0) await writeFully(file, bytes, position);
    await syncFile(file);
  });
}

/** For files that recovery and checkpoints write themselves. The bytes are durable when this resolves. */
export async function writeAndSync(
  io: Io,
  path: string,
  { bytes, position }: { bytes: Uint8Array; position: number },
): Promise<void> {
  await withFile(io, path, 'write', async (file) => {
    await writeFully(file, bytes, position);
    await syncFile(file);
  });
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

/** Runs every closing step in order, even when some fail. Then throws the first failure. */
export async function closeAll(closers: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
