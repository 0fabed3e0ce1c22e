import { locked } from '../../base/errors.ts';
import type { Io, IoFile, IoLock } from '../../engine/io.ts';

// The place of a session that leaves no trace: the same files, in memory. So the rules of ids, artifacts and addresses
// are those of any other session.

export class RamIo implements Io {
  readonly #files = new Map<string, RamFile>();
  readonly #folders = new Set<string>();
  readonly #locks = new Set<string>();

  async open(path: string, mode: 'read' | 'write' | 'create'): Promise<IoFile> {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    if (mode !== 'create') throw errno('ENOENT', path);
    const file = new RamFile();
    this.#files.set(path, file);
    return file;
  }

  async stat(path: string): ReturnType<Io['stat']> {
    const file = this.#files.get(path);
    if (file !== undefined) return { kind: 'file', size: await file.size() };
    return this.#folders.has(path) ? { kind: 'folder', size: 0 } : undefined;
  }

  async mkdir(path: string): Promise<void> {
    this.#folders.add(path);
  }

  async list(path: string): Promise<string[]> {
    if (!this.#folders.has(path)) throw errno('ENOENT', path);
    const inside = [...this.#files.keys(), ...this.#folders]
      .filter((other) => other.startsWith(`${path}/`))
      .map((other) => other.slice(path.length + 1))
      .filter((name) => !name.includes('/'));
    return inside.toSorted();
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#name(from, to);
    this.#files.delete(from);
  }

  async link(from: string, to: string): Promise<void> {
    if (this.#files.has(to)) throw errno('EEXIST', to);
    await this.#name(from, to);
  }

  async remove(path: string): Promise<void> {
    this.#files.delete(path);
  }

  async removeFolder(path: string): Promise<void> {
    this.#folders.delete(path);
  }

  async syncDir(): Promise<void> {
    // Nothing here outlives the process.
  }

  async freeBytes(): Promise<number> {
    return Number.MAX_SAFE_INTEGER;
  }

  async lock(path: string): Promise<IoLock> {
    if (this.#locks.has(path)) {
      throw locked(path, 'this process', `${path} is held`);
    }
    this.#locks.add(path);
    return {
      release: async () => {
        this.#locks.delete(path);
      },
    };
  }

  async #name(from: string, to: string): Promise<void> {
    const file = this.#files.get(from);
    if (file === undefined) throw errno('ENOENT', from);
    this.#files.set(to, file);
  }
}

class RamFile implements IoFile {
  #bytes = Buffer.alloc(0);
  #length = 0;

  async read(into: Uint8Array, position: number): Promise<number> {
    return this.#bytes.copy(into, 0, position, Math.min(this.#length, position + into.length));
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    const end = position + bytes.length;
    if (end > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(end, this.#bytes.length * 2, 1024));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, position);
    this.#length = Math.max(this.#length, end);
    return bytes.length;
  }

  async sync(): Promise<void> {
    // Nothing here outlives the process.
  }

  async truncate(length: number): Promise<void> {
    this.#bytes.fill(0, length);
    this.#length = length;
  }

  async size(): Promise<number> {
    return this.#length;
  }

  async close(): Promise<void> {
    // There is nothing to release.
  }
}

function errno(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
