import * as fs from 'node:fs';
import { promisify } from 'node:util';
import type { Io, IoFile, IoLock } from '../../io.ts';
import { takeOwnerLock } from './owner-lock.ts';

/**
 * Up to this size a read is made on the calling thread. A pread of cached bytes takes about
 * 3 µs, a trip to the thread pool 20 to 40 µs, and turn records, heads and most blobs are small.
 */
const INLINE_READ_BYTES = 64 * 1024;
/**
 * A write ends in the page cache, at about 2 GB/s. A write on another thread would be finished only when this
 * thread has time to notice, and a frame could not be synced before. With 64 writers that took a third of the time
 * of an append.
 */
const INLINE_WRITE_BYTES = 512 * 1024;
/**
 * The last close of a removed file frees its pages: 25 to 39 ms for a pack of 80 MB, in which this thread could do
 * nothing else. So another thread closes a removed file of at least this size.
 */
const LARGE_REMOVED_BYTES = 1024 * 1024;

const fsync = promisify(fs.fsync);
const fdatasync = promisify(fs.fdatasync);
const closeApart = promisify(fs.close);
const readApart = promisify(fs.read);
const writeApart = promisify(fs.write);

/** The real disk. */
export const nodeIo: Io = {
  async open(path, mode) {
    const flags = fs.constants.O_RDWR | (mode === 'create' ? fs.constants.O_CREAT : 0);
    return new NodeFile(fs.openSync(path, mode === 'read' ? fs.constants.O_RDONLY : flags, 0o600));
  },

  async stat(path) {
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : 'other';
    return { kind, size: stat.size };
  },

  async mkdir(path) {
    try {
      fs.mkdirSync(path, 0o700);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  },

  async list(path) {
    return fs.readdirSync(path).sort();
  },

  async rename(from, to) {
    fs.renameSync(from, to);
  },

  async link(from, to) {
    fs.linkSync(from, to);
  },

  async remove(path) {
    fs.rmSync(path, { force: true });
  },

  async removeFolder(path) {
    try {
      fs.rmdirSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  },

  async syncDir(path) {
    const fd = fs.openSync(path, fs.constants.O_RDONLY);
    try {
      await fsync(fd);
    } finally {
      fs.closeSync(fd);
    }
  },

  async freeBytes(path) {
    const { bavail, bsize } = fs.statfsSync(path);
    return bavail * bsize;
  },

  async lock(path, owner): Promise<IoLock> {
    return takeOwnerLock(path, owner);
  },

  endOfTurn() {
    return new Promise((resolve) => setImmediate(resolve));
  },
};

class NodeFile implements IoFile {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    let filled = 0;
    while (filled < into.length) {
      const left = into.length - filled;
      const got =
        left <= INLINE_READ_BYTES
          ? fs.readSync(this.#fd, into, filled, left, position + filled)
          : (await readApart(this.#fd, into, filled, left, position + filled)).bytesRead;
      if (got === 0) break;
      filled += got;
    }
    return filled;
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    if (bytes.length <= INLINE_WRITE_BYTES) {
      return fs.writeSync(this.#fd, bytes, 0, bytes.length, position);
    }
    return (await writeApart(this.#fd, bytes, 0, bytes.length, position)).bytesWritten;
  }

  async sync(here = false): Promise<void> {
    if (here) fs.fdatasyncSync(this.#fd);
    else await fdatasync(this.#fd);
  }

  async truncate(length: number): Promise<void> {
    fs.ftruncateSync(this.#fd, length);
  }

  async size(): Promise<number> {
    return fs.fstatSync(this.#fd).size;
  }

  async close(): Promise<void> {
    const { nlink, size } = fs.fstatSync(this.#fd);
    if (nlink > 0 || size < LARGE_REMOVED_BYTES) fs.closeSync(this.#fd);
    else await closeApart(this.#fd);
  }
}
