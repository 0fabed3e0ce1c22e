import { dirname } from 'node:path';
import type { JournalWrite } from '../../format/journal-frame.ts';
import type { Io, IoFile } from '../io.ts';
import { closeAll } from './close-all.ts';
import { toQuipuError } from './io-error.ts';
import { syncFile, syncFolder } from './sync-failure.ts';
import { readThrough, sizeThrough } from './waiting-writes.ts';
import { writeFully } from './write-fully.ts';

// The store's files as the rest of the engine sees them: by name relative to the store's folder.
// Invariants
// - Only writes whose journal frame is durable are applied here, so a write that fails half-way is
//   never lost: it waits in `#waiting`, reads see through to it, and it is tried again before
//   anything new is written. That is how a full disk loses nothing.
// - Every name written, created or removed since the last `syncAll` is in `#dirty` or `#dirtyFolders`.
// - A handle is closed only when nobody uses it and it has nothing to sync.

/** Packs and logs may be many; this many handles stay open between uses. */
const IDLE_HANDLES = 96;

interface Handle {
  readonly file: IoFile;
  users: number;
  /** Its name is gone; the last user closes it. */
  dropped: boolean;
}

export class StoreFiles {
  readonly io: Io;
  readonly root: string;
  /** Of the journal in this folder; known once FORMAT has been read. */
  frameSalt = 0;
  readonly #handles = new Map<string, Handle>();
  readonly #dirty = new Set<string>();
  readonly #dirtyFolders = new Set<string>();
  readonly #folders = new Set<string>();
  #waiting: readonly JournalWrite[] = [];
  #catchingUp: Promise<void> | undefined;
  /** Counts names that were removed or replaced. */
  #drops = 0;

  constructor(io: Io, root: string) {
    this.io = io;
    this.root = root;
  }

  /** True while acknowledged writes could not reach their files yet. */
  get behind(): boolean {
    return this.#waiting.length > 0;
  }

  pathOf(name: string): string {
    return name === '' ? this.root : `${this.root}/${name}`;
  }

  /** Up to `length` bytes from `position`; fewer at the end, none when the file is missing. */
  async read(name: string, position: number, length: number): Promise<Uint8Array> {
    const into = Buffer.allocUnsafe(length);
    // Before the file is read: what is written meanwhile would be in neither.
    const waiting = this.#waiting;
    const got = await this.#readFile(name, into, position);
    const filled = waiting.length === 0 ? got : readThrough(waiting, name, { into, position, got });
    return filled === length ? into : into.subarray(0, filled);
  }

  async size(name: string): Promise<number> {
    const waiting = this.#waiting;
    try {
      const stat = await this.io.stat(this.pathOf(name));
      return sizeThrough(waiting, name, stat?.size ?? 0);
    } catch (error) {
      throw toQuipuError(error, this.pathOf(name));
    }
  }

  /** Carries out durable writes, in order. What cannot be written now waits, and nothing is thrown. */
  async apply(writes: readonly JournalWrite[]): Promise<void> {
    if (this.behind) {
      this.#waiting = [...this.#waiting, ...writes];
      return;
    }
    for (const [index, write] of writes.entries()) {
      try {
        await this.#applyOne(write);
      } catch {
        // The frame is durable: the write is tried again, and the next commit reports the cause.
        this.#waiting = writes.slice(index);
        return;
      }
    }
  }

  /** Tries what waits once more; throws the reason when it still cannot be written. */
  async catchUp(): Promise<void> {
    if (!this.behind) return;
    // Commits and checkpoints both ask; two at once would each drop what the other has written.
    this.#catchingUp ??= this.#tryWaiting().finally(() => {
      this.#catchingUp = undefined;
    });
    await this.#catchingUp;
  }

  async #tryWaiting(): Promise<void> {
    while (this.#waiting[0] !== undefined) {
      const write = this.#waiting[0];
      try {
        await this.#applyOne(write);
      } catch (error) {
        throw toQuipuError(error, this.pathOf(write.path));
      }
      this.#waiting = this.#waiting.slice(1);
    }
  }

  /** Everything applied before the call is on the disk when it resolves. */
  async syncAll(): Promise<void> {
    const names = [...this.#dirty];
    const folders = [...this.#dirtyFolders];
    this.#dirty.clear();
    this.#dirtyFolders.clear();
    try {
      await Promise.all(names.map((name) => this.#syncOne(name)));
      for (const folder of folders) await syncFolder(this.io, this.pathOf(folder));
    } catch (error) {
      for (const name of names) this.#dirty.add(name);
      for (const folder of folders) this.#dirtyFolders.add(folder);
      throw error;
    }
  }

  async #syncOne(name: string): Promise<void> {
    const drops = this.#drops;
    try {
      await this.#use(name, 'write', syncFile);
    } catch (error) {
      // A commit beside the checkpoint may remove the file, and then there is nothing to sync.
      const gone = (error as NodeJS.ErrnoException).code === 'ENOENT' && this.#drops !== drops;
      if (!gone) throw error;
    }
  }

  async close(): Promise<void> {
    const handles = [...this.#handles.values()];
    this.#handles.clear();
    await closeAll(
      handles.map(
        ({ file }) =>
          () =>
            file.close(),
      ),
    );
  }

  async #applyOne(write: JournalWrite): Promise<void> {
    if (write.kind === 'extent') return;
    if (write.kind === 'remove') {
      await this.#remove(write.path);
      return;
    }
    if (write.kind === 'whole') {
      await this.#replace(write.path, write.data);
      return;
    }
    this.#dirty.add(write.path);
    await this.#use(write.path, 'create', (file) => writeFully(file, write.data, write.offset));
  }

  async #remove(name: string): Promise<void> {
    const folder = folderOf(name);
    // A document that was never published has no file, and perhaps not even a folder.
    if ((await this.io.stat(this.pathOf(folder))) === undefined) return;
    await this.io.remove(this.pathOf(name));
    await this.#drop(name);
    this.#dirty.delete(name);
    this.#dirtyFolders.add(folder);
  }

  /** Others may be reading this file by name: they see the old content or the new, never a part. */
  async #replace(name: string, data: Uint8Array): Promise<void> {
    await this.#makeFolders(folderOf(name));
    const aside = this.pathOf(`${name}.new`);
    await this.io.remove(aside);
    const file = await this.io.open(aside, 'create');
    try {
      await writeFully(file, data, 0);
    } finally {
      await file.close();
    }
    await this.io.rename(aside, this.pathOf(name));
    await this.#drop(name);
    this.#dirty.add(name);
    this.#dirtyFolders.add(folderOf(name));
  }

  async #readFile(name: string, into: Uint8Array, position: number): Promise<number> {
    try {
      return await this.#use(name, 'read', (file) => file.read(into, position));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw toQuipuError(error, this.pathOf(name));
    }
  }

  async #use<T>(
    name: string,
    mode: 'read' | 'write' | 'create',
    work: (file: IoFile) => Promise<T>,
  ): Promise<T> {
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

  /** The caller is counted as a user already: no moment in which the handle could pass for idle. */
  async #open(name: string, mode: 'read' | 'write' | 'create'): Promise<Handle> {
    await this.#closeIdle();
    if (mode === 'create') {
      // Also when the file is there: a process that died may have made it and not synced its name.
      await this.#makeFolders(folderOf(name));
      this.#dirtyFolders.add(folderOf(name));
    }
    const drops = this.#drops;
    const file = await this.io.open(this.pathOf(name), mode === 'create' ? 'create' : 'write');
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
      if (handle.users > 0 || this.#dirty.has(name)) continue;
      this.#handles.delete(name);
      await handle.file.close();
      if (this.#handles.size < IDLE_HANDLES / 2) return;
    }
  }

  /** After a name was removed or stands for another file: no handle opened before may be used by it. */
  async #drop(name: string): Promise<void> {
    this.#drops += 1;
    const handle = this.#handles.get(name);
    if (handle === undefined) return;
    this.#handles.delete(name);
    handle.dropped = true;
    if (handle.users === 0) await handle.file.close();
  }

  async #makeFolders(folder: string): Promise<void> {
    if (folder === '' || this.#folders.has(folder)) return;
    await this.#makeFolders(folderOf(folder));
    await this.io.mkdir(this.pathOf(folder));
    this.#dirtyFolders.add(folderOf(folder));
    this.#folders.add(folder);
  }
}

function folderOf(name: string): string {
  const folder = dirname(name);
  return folder === '.' ? '' : folder;
}
