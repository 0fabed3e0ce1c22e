import type { IoFile } from '../../io.ts';
import { closeAll } from './close-all.ts';

// Invariant: a handle is closed only when nobody uses it and it has nothing to sync.

/** Packs and logs may be many; this many handles stay open between uses. */
const IDLE_HANDLES = 96;

export type OpenMode = 'read' | 'write' | 'create';

interface Handle {
  readonly file: IoFile;
  users: number;
  /** Its name is gone; the last user closes it. */
  dropped: boolean;
}

interface Files {
  open(name: string, mode: OpenMode): Promise<IoFile>;
  mustSync(name: string): boolean;
}

/** Files that are open, by name: one handle each, shared by all who use it. */
export class FileHandles {
  readonly #files: Files;
  readonly #handles = new Map<string, Handle>();
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
      if (handle.dropped && handle.users === 0) await handle.file.close();
    }
  }

  /** After a name was removed or stands for another file: no handle opened before may be used by it. */
  async drop(name: string): Promise<void> {
    this.#drops += 1;
    const handle = this.#handles.get(name);
    if (handle === undefined) return;
    this.#handles.delete(name);
    handle.dropped = true;
    if (handle.users === 0) await handle.file.close();
  }

  async close(): Promise<void> {
    const files = [...this.#handles.values()].map(({ file }) => file);
    this.#handles.clear();
    await closeAll(files.map((file) => () => file.close()));
  }

  /** The caller is counted as a user already: no moment in which the handle could pass for idle. */
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
      // The name may stand for another file by now.
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
