import { dirname } from 'node:path';
import { type FormatFile, frameSaltOf } from '../../../format/format-file.ts';
import { HEAD_RECORD_BYTES } from '../../../format/head-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { Io, IoFile } from '../../io.ts';
import {
  FileHandles,
  type OpenMode,
  syncFile,
  syncFolder,
  withFile,
  writeFully,
} from './file-handles.ts';
import { toQuipuError, withCodes } from './io-error.ts';
import {
  WAITING_FILE,
  WaitingRecords,
  namesThrough,
  readThrough,
  sizeThrough,
} from './write-behind.ts';

// The store's files as the rest of the engine sees them: by name relative to the store's folder.
// Invariants
// - Only writes whose journal frame is durable come here, so a write that fails half-way is never lost. It waits in
//   `#waiting`, reads see through to it, and it is tried again before anything new is written. So a full disk loses
//   nothing.
// - Every name written, created or removed since the last `syncAll` is in `#dirty` or `#dirtyFolders`.
// - A head waits until something is synced or many have gathered. Then its file gets it. Until then reads see through
//   to it.

/** Heads that wait for a checkpoint. This limits memory and the number of records that a read looks through. */
const WAITING_HEADS = 1024;

/** A longer read asks for the size of the file first, which costs little beside the read. */
const TRUSTED_BYTES = 1024 * 1024;

/** A long file is synced in portions, so that commits to the same disk do not wait behind a large sync. */
export const UNSYNCED_BYTES_MAX: number = 16 * 1024 * 1024;

export class StoreFiles {
  readonly io: Io;
  readonly root: string;
  /** The salt of the journal in this folder. Known with `format`. */
  frameSalt = 0;
  #format: FormatFile | undefined;
  readonly #handles: FileHandles;
  readonly #dirty = new Set<string>();
  readonly #dirtyFolders = new Set<string>();
  readonly #folders = new Set<string>();
  #waiting: readonly JournalWrite[] = [];
  readonly #heads: WaitingRecords = new WaitingRecords(WAITING_FILE, HEAD_RECORD_BYTES);
  /** Counts the times that waiting heads arrived here or reached their file. */
  #headMoves = 0;
  #flushed: Promise<void> = Promise.resolve();
  #catchingUp: Promise<void> | undefined;

  constructor(io: Io, root: string) {
    this.io = io;
    this.root = root;
    const mustSync = (name: string): boolean => this.#dirty.has(name);
    this.#handles = new FileHandles({ open: (name, mode) => this.#open(name, mode), mustSync });
  }

  /** The content of FORMAT. Known once FORMAT has been read. */
  get format(): FormatFile | undefined {
    return this.#format;
  }

  set format(format: FormatFile) {
    this.#format = format;
    this.frameSalt = frameSaltOf(format.store);
  }

  /** True while durable writes have not reached their files yet. */
  get behind(): boolean {
    return this.#waiting.length > 0;
  }

  pathOf(name: string): string {
    return name === '' ? this.root : `${this.root}/${name}`;
  }

  /** Up to `length` bytes from `position`; fewer at the end, none when the file is missing. */
  async read(name: string, position: number, wanted: number): Promise<Buffer> {
    const length = wanted <= TRUSTED_BYTES ? wanted : await this.#bytesFrom(name, position, wanted);
    const into = Buffer.allocUnsafe(length);
    for (;;) {
      // The waiting writes are taken before the file is read: a write in between would be in neither.
      const waiting = this.#waiting;
      const moves = this.#headMoves;
      const got = await this.#readFile(name, into, position);
      if (this.#headMoves !== moves && name === WAITING_FILE) continue;
      const unwritten = this.#unwritten(name, waiting);
      const filled =
        unwritten.length === 0 ? got : readThrough(unwritten, name, { into, position, got });
      return filled === length ? into : into.subarray(0, filled);
    }
  }

  /** How many of these bytes there are: a length in a forged record takes no memory beyond them. */
  async #bytesFrom(name: string, position: number, wanted: number): Promise<number> {
    return Math.min(wanted, Math.max(0, (await this.size(name)) - position));
  }

  async size(name: string): Promise<number> {
    const waiting = this.#unwritten(name, this.#waiting);
    try {
      const stat = await this.io.stat(this.pathOf(name));
      return sizeThrough(waiting, name, stat?.size ?? 0);
    } catch (error) {
      throw toQuipuError(error, this.pathOf(name));
    }
  }

  /** The names in a folder, including one that waiting writes will make. Undefined when it is missing. */
  async list(folder: string): Promise<string[] | undefined> {
    const path = this.pathOf(folder);
    const isThere = (await this.io.stat(path)) !== undefined;
    const names = namesThrough(this.#waiting, folder, isThere ? await this.io.list(path) : []);
    return isThere || names.length > 0 ? names : undefined;
  }

  #unwritten(name: string, waiting: readonly JournalWrite[]): readonly JournalWrite[] {
    if (name !== WAITING_FILE || this.#heads.count === 0) return waiting;
    return [...this.#heads.writes(), ...waiting];
  }

  /** Carries out durable writes, in order. A write that is not possible now waits, and nothing is thrown. */
  async apply(writes: readonly JournalWrite[]): Promise<void> {
    if (this.behind) {
      this.#waiting = [...this.#waiting, ...writes];
      return;
    }
    for (const [index, write] of writes.entries()) {
      try {
        await this.#applyOne(write);
      } catch {
        // The frame is durable. The write is tried again, and the next commit reports the cause.
        this.#waiting = writes.slice(index);
        return;
      }
    }
  }

  /** Carries out the waiting writes. Throws the reason when that is not possible yet. */
  async catchUp(): Promise<void> {
    if (!this.behind) return;
    // Commits and checkpoints both call this. Two runs at once would each drop what the other has written.
    this.#catchingUp ??= this.#tryWaiting().finally(() => {
      this.#catchingUp = undefined;
    });
    await this.#catchingUp;
  }

  /** Like `catchUp`. Writes that are still not possible go on waiting. */
  async catchUpIfPossible(): Promise<void> {
    await this.catchUp().catch(() => undefined);
  }

  async #tryWaiting(): Promise<void> {
    while (this.#waiting[0] !== undefined) {
      const write = this.#waiting[0];
      await withCodes(this.pathOf(write.path), () => this.#applyOne(write));
      this.#waiting = this.#waiting.slice(1);
    }
  }

  /**
   * Throws when a record cannot be written. Then the record stays here. Only one flush runs at a time: two could
   * write the newer version of a record first, and the older one over it.
   */
  #flushHeads(): Promise<void> {
    const flushed = this.#flushed.then(() => this.#writeHeads());
    this.#flushed = flushed.catch(() => undefined);
    return flushed;
  }

  async #writeHeads(): Promise<void> {
    for (const write of this.#heads.writes()) {
      await this.#writeBytes(write);
      this.#headMoves += 1;
      this.#heads.drop(write);
    }
  }

  /**
   * Everything applied before the call is on the disk when this resolves. For waiting writes, call `catchUp` first.
   */
  async syncAll(): Promise<void> {
    await withCodes(this.pathOf(WAITING_FILE), () => this.#flushHeads());
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
    const drops = this.#handles.drops;
    try {
      await this.#handles.use(name, 'write', syncFile);
    } catch (error) {
      // A commit beside the checkpoint may remove the file, and then there is nothing to sync.
      const gone =
        (error as NodeJS.ErrnoException).code === 'ENOENT' && this.#handles.drops !== drops;
      if (!gone) throw error;
    }
  }

  async close(): Promise<void> {
    await this.#handles.close();
  }

  async #applyOne(write: JournalWrite): Promise<void> {
    if (write.kind === 'extent') return;
    if (write.kind === 'remove') {
      await this.#remove(write.path);
      return;
    }
    if (write.kind === 'whole') {
      await this.#replace(write.path, (file) => writeFully(file, write.data, 0));
      return;
    }
    if (!this.#heads.takes(write)) return this.#writeBytes(write);
    this.#headMoves += 1;
    this.#heads.add(write);
    if (this.#heads.count > WAITING_HEADS) await this.#flushHeads();
  }

  async #writeBytes({ path, offset, data }: JournalWrite & { kind: 'bytes' }): Promise<void> {
    this.#dirty.add(path);
    await this.#handles.use(path, 'create', async (file) => {
      await writeFully(file, data, offset);
      // The file is marked again: a `syncAll` beside this may have synced it before these bytes were in it.
      this.#dirty.add(path);
    });
  }

  async #remove(name: string): Promise<void> {
    const folder = folderOf(name);
    // A document that was never published has no file, and perhaps not even a folder.
    if ((await this.io.stat(this.pathOf(folder))) === undefined) return;
    await this.io.remove(this.pathOf(name));
    this.#handles.drop(name);
    this.#dirty.delete(name);
    this.#dirtyFolders.add(folder);
  }

  /** Others may be reading this file by name. They see the old content or the new, never a part. */
  async #replace(name: string, write: (file: IoFile) => Promise<void>): Promise<void> {
    await this.#makeFolders(folderOf(name));
    // No log or document has this name, so no file is in the way and none is overwritten.
    const aside = this.pathOf(`${name}~new`);
    await this.io.remove(aside);
    await withFile(this.io, aside, 'create', write);
    await this.io.rename(aside, this.pathOf(name));
    this.#handles.drop(name);
    this.#dirty.add(name);
    this.#dirtyFolders.add(folderOf(name));
  }

  /**
   * Replaces a file without the journal. It has its old content or all of the new one, whenever the power fails.
   * Without `sync` that is true only while no power fails.
   */
  async replace(
    name: string,
    pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { sync = true }: { readonly sync?: boolean } = {},
  ): Promise<void> {
    const write = async (file: IoFile): Promise<void> => {
      let at = 0;
      let synced = 0;
      for await (const piece of pieces) {
        await writeFully(file, piece, at);
        at += piece.length;
        if (!sync || at - synced < UNSYNCED_BYTES_MAX) continue;
        await syncFile(file);
        synced = at;
      }
      if (sync) await syncFile(file);
    };
    await withCodes(this.pathOf(name), async () => {
      await this.#replace(name, write);
      if (sync) await syncFolder(this.io, this.pathOf(folderOf(name)));
    });
    // Nothing is left to sync, and others may remove a note by its name.
    this.#dirty.delete(name);
  }

  async #readFile(name: string, into: Uint8Array, position: number): Promise<number> {
    try {
      return await this.#handles.use(name, 'read', (file) => file.read(into, position));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw toQuipuError(error, this.pathOf(name));
    }
  }

  async #open(name: string, mode: OpenMode): Promise<IoFile> {
    if (mode !== 'create') return this.io.open(this.pathOf(name), 'write');
    // The folder is marked even when the file exists: a process that died may have made it without syncing its
    // name.
    await this.#makeFolders(folderOf(name));
    const file = await this.io.open(this.pathOf(name), 'create');
    this.#dirtyFolders.add(folderOf(name));
    return file;
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
  return dirname(`/${name}`).slice(1);
}
