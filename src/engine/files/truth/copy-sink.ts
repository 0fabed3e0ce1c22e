import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { StoreFiles } from '../disk/store-files.ts';

// The destination of copied bytes. Data that the copy shows in its present state changes only through the redo
// frame. Data beyond the lengths of that state is written directly to its place. Without a frame the folder cannot
// be opened, and everything is written directly.

/** Files that were written and not synced stay open. A copy with many files must not run out of file handles. */
const UNSYNCED_FILES_MAX = 64;
/** Data is synced in small portions, so that commits to the same disk do not wait behind a large sync. */
const UNSYNCED_BYTES_MAX = 16 * 1024 * 1024;

/** The length of a file that counts now. A file without an entry counts as a whole. */
export type Visible = ReadonlyMap<string, number>;

/** The frame in the journal of the copy that changes all visible data at once. */
export interface Redo {
  append(write: JournalWrite): Promise<void>;
}

export class CopySink {
  readonly files: StoreFiles;
  readonly #redo: Redo | undefined;
  readonly #visible: Visible;
  readonly #touched = new Set<string>();
  readonly #unsynced = new Set<string>();
  #unsyncedBytes = 0;
  #copiedBytes = 0;

  constructor(files: StoreFiles, redo?: Redo, visible: Visible = new Map()) {
    this.files = files;
    this.#redo = redo;
    this.#visible = visible;
  }

  get copiedBytes(): number {
    return this.#copiedBytes;
  }

  get touchedFiles(): number {
    return this.#touched.size;
  }

  async put(path: string, offset: number, data: Uint8Array): Promise<void> {
    this.#count(path, data.length);
    const shown = this.#redo === undefined ? 0 : (this.#visible.get(path) ?? Infinity);
    const split = Math.min(data.length, Math.max(0, shown - offset));
    if (split > 0) {
      await this.#redo?.append({ kind: 'bytes', path, offset, data: data.subarray(0, split) });
    }
    if (split < data.length) {
      await this.#write({
        kind: 'bytes',
        path,
        offset: offset + split,
        data: data.subarray(split),
      });
    }
  }

  async replace(path: string, data: Uint8Array): Promise<void> {
    this.#count(path, data.length);
    await this.#change({ kind: 'whole', path, data });
  }

  async remove(path: string): Promise<void> {
    this.#touched.add(path);
    await this.#change({ kind: 'remove', path });
  }

  async take(write: JournalWrite): Promise<void> {
    if (write.kind === 'bytes') await this.put(write.path, write.offset, write.data);
    if (write.kind === 'whole') await this.replace(write.path, write.data);
    if (write.kind === 'remove') await this.remove(write.path);
  }

  async #change(write: JournalWrite): Promise<void> {
    if (this.#redo === undefined) await this.#write(write);
    else await this.#redo.append(write);
  }

  async #write(write: JournalWrite): Promise<void> {
    await this.files.apply([write]);
    await this.files.catchUp();
    this.#unsynced.add(write.path);
    this.#unsyncedBytes += 'data' in write ? write.data.length : 0;
    const many = this.#unsynced.size >= UNSYNCED_FILES_MAX;
    if (many || this.#unsyncedBytes >= UNSYNCED_BYTES_MAX) await this.sync();
  }

  /** All data written directly is durable when this resolves. */
  async sync(): Promise<void> {
    await this.files.syncAll();
    this.#unsynced.clear();
    this.#unsyncedBytes = 0;
  }

  #count(path: string, bytes: number): void {
    this.#touched.add(path);
    this.#copiedBytes += bytes;
  }
}
