import { QuipuError } from '../../base/errors.ts';
import type { Io, IoLock } from '../../engine/io.ts';
import type { Content } from './content.ts';
import { Disk, soon } from './disk.ts';
import type { DiskSnapshot, NodeId } from './disk-state.ts';
import { MemoryFile } from './memory-file.ts';
import type { LossyFile } from './memory-file.ts';
import { errnoError } from './operation.ts';
import type { Operation, Watch } from './operation.ts';

/**
 * `Io` in memory. It keeps the changes that a power cut could take away apart from the others. Calls return in the next
 * microtask: there are no timers and no threads, so a run can be repeated. Absolute and relative paths mean the same;
 * the root folder is there from the start.
 */
export class MemoryIo implements Io {
  readonly #disk: Disk;
  readonly #locks = new Map<string, string>();
  /** Shared with every file: a file opened before `watch` is watched, too. */
  readonly #watch: Watch = {};

  constructor(disk: Disk = new Disk()) {
    this.#disk = disk;
  }

  /** A disk with these files, all of them durable. */
  static from(files: ReadonlyMap<string, Uint8Array>): MemoryIo {
    const disk = new Disk();
    for (const [path, bytes] of files) {
      const names = path.split('/').filter((name) => name !== '' && name !== '.');
      for (let depth = 1; depth < names.length; depth++) {
        const { folder, name, node } = disk.locate(names.slice(0, depth).join('/'));
        if (node === undefined) disk.link(folder, path, [[name, disk.add('folder')]]);
      }
      const { folder, name } = disk.locate(path);
      const file = disk.add('file');
      disk.link(folder, path, [[name, file]]);
      disk.write(file, path, { position: 0, bytes });
    }
    return new MemoryIo(disk.copy());
  }

  /** Called before every operation takes effect. */
  watch(watcher: ((operation: Operation) => void) | undefined): void {
    this.#watch.tell = watcher;
  }

  get changes(): number {
    return this.#disk.changes;
  }

  snapshot(): DiskSnapshot {
    return this.#disk.snapshot();
  }

  hash(): number {
    return this.#disk.hash();
  }

  /** Returns the disk that a killed process leaves behind: every byte it wrote is durable, its locks are gone. */
  copy(): MemoryIo {
    return new MemoryIo(this.#disk.copy());
  }

  /** A copy in which the file at `path` has other content. */
  copyWith(path: string, content: Content): MemoryIo {
    return new MemoryIo(this.#disk.copy(this.#mustFind(path), content));
  }

  contentOf(path: string): Content | undefined {
    const { node } = this.#disk.locate(path);
    return node === undefined ? undefined : this.#disk.contentOf(node);
  }

  /** The paths of all files, sorted. */
  paths(): string[] {
    const paths: string[] = [];
    const walk = (folder: NodeId, prefix: string): void => {
      for (const [name, node] of this.#disk.namesOf(folder)) {
        if (this.#disk.kindOf(node) === 'folder') walk(node, `${prefix}${name}/`);
        else paths.push(prefix + name);
      }
    };
    walk(0, '');
    return paths.toSorted();
  }

  async open(path: string, mode: 'read' | 'write' | 'create'): Promise<LossyFile> {
    this.#tell('open', path, mode);
    const disk = this.#disk;
    const { folder, name, node } = disk.locate(path);
    if (node !== undefined) {
      if (disk.kindOf(node) === 'folder') throw errnoError('EISDIR', `open ${path}`);
      return new MemoryFile(disk, { path, node, mode }, this.#watch);
    }
    if (mode !== 'create') throw errnoError('ENOENT', `open ${path}`);
    const file = disk.add('file');
    const entry = disk.link(folder, path, [[name, file]]);
    await soon;
    disk.settle(entry);
    return new MemoryFile(disk, { path, node: file, mode }, this.#watch);
  }

  async stat(path: string): Promise<{ kind: 'file' | 'folder'; size: number } | undefined> {
    this.#tell('stat', path);
    const node = this.#find(path);
    if (node === undefined) return undefined;
    const kind = this.#disk.kindOf(node);
    return { kind, size: kind === 'file' ? this.#disk.contentOf(node).length : 0 };
  }

  async mkdir(path: string): Promise<void> {
    this.#tell('mkdir', path);
    const { folder, name, node } = this.#disk.locate(path);
    if (node !== undefined) {
      if (this.#disk.kindOf(node) === 'folder') return;
      throw errnoError('EEXIST', `mkdir ${path}`);
    }
    const entry = this.#disk.link(folder, path, [[name, this.#disk.add('folder')]]);
    await soon;
    this.#disk.settle(entry);
  }

  async list(path: string): Promise<string[]> {
    this.#tell('list', path);
    return [...this.#disk.namesOf(this.#mustFindFolder(path)).keys()].toSorted();
  }

  /** A rename is atomic within a folder. Between two folders either half may survive a crash without the other. */
  async rename(from: string, to: string): Promise<void> {
    this.#tell('rename', from, to);
    const disk = this.#disk;
    const source = disk.locate(from);
    const target = disk.locate(to);
    if (source.node === undefined) throw errnoError('ENOENT', `rename ${from}`);
    if (source.node === target.node) return;
    if (target.node !== undefined && disk.kindOf(target.node) === 'folder') {
      throw errnoError('EISDIR', `rename ${from} ${to}`);
    }
    const arrive = [target.name, source.node] as const;
    const leave = [source.name, undefined] as const;
    const entries =
      source.folder === target.folder
        ? [disk.link(source.folder, to, [leave, arrive])]
        : [disk.link(target.folder, to, [arrive]), disk.link(source.folder, from, [leave])];
    await soon;
    for (const entry of entries) disk.settle(entry);
  }

  async remove(path: string): Promise<void> {
    this.#tell('remove', path);
    const { folder, name, node } = this.#disk.locate(path);
    if (node === undefined) return;
    if (this.#disk.kindOf(node) === 'folder') throw errnoError('EISDIR', `remove ${path}`);
    const entry = this.#disk.link(folder, path, [[name, undefined]]);
    await soon;
    this.#disk.settle(entry);
  }

  async link(from: string, to: string): Promise<void> {
    this.#tell('link', from, to);
    const node = this.#mustFind(from);
    const { folder, name, node: taken } = this.#disk.locate(to);
    if (this.#disk.kindOf(node) === 'folder') throw errnoError('EPERM', `link ${from}`);
    if (taken !== undefined) throw errnoError('EEXIST', `link ${from} ${to}`);
    const entry = this.#disk.link(folder, to, [[name, node]]);
    await soon;
    this.#disk.settle(entry);
  }

  async removeFolder(path: string): Promise<void> {
    this.#tell('removeFolder', path);
    const { folder, name, node } = this.#disk.locate(path);
    if (node === undefined) return;
    if (this.#disk.kindOf(node) !== 'folder') throw errnoError('ENOTDIR', `rmdir ${path}`);
    if (this.#disk.namesOf(node).size > 0) throw errnoError('ENOTEMPTY', `rmdir ${path}`);
    const entry = this.#disk.link(folder, path, [[name, undefined]]);
    await soon;
    this.#disk.settle(entry);
  }

  async syncDir(path: string): Promise<void> {
    this.#tell('syncDir', path);
    const folder = this.#mustFindFolder(path);
    const calledAt = this.#disk.beginSync();
    await soon;
    this.#disk.endSync(folder, calledAt);
  }

  /** Plays the part of a failed `syncDir` that nobody sees until the crash. */
  loseUnsynced(folder: string): void {
    this.#disk.loseUnsynced(this.#mustFindFolder(folder));
  }

  /** Memory is as good as endless; a test that wants a full disk uses a fault. */
  async freeBytes(): Promise<number> {
    return Number.MAX_SAFE_INTEGER;
  }

  async lock(path: string, owner: string): Promise<IoLock> {
    this.#tell('lock', path);
    this.#disk.locate(path);
    const holder = this.#locks.get(path);
    if (holder !== undefined) {
      throw new QuipuError('LOCKED', `${path} is held by ${holder}`, { what: path, owner: holder });
    }
    this.#locks.set(path, owner);
    let held = true;
    const release = async (): Promise<void> => {
      this.#tell('release', path);
      // The release works only once, so that a late second release does not free the lock of the next holder.
      if (held) this.#locks.delete(path);
      held = false;
    };
    return { release };
  }

  #find(path: string): NodeId | undefined {
    try {
      return this.#disk.locate(path).node;
    } catch {
      // The error on the way was ENOENT or ENOTDIR: there is nothing at the path.
      return undefined;
    }
  }

  #mustFind(path: string): NodeId {
    const { node } = this.#disk.locate(path);
    if (node === undefined) throw errnoError('ENOENT', path);
    return node;
  }

  #mustFindFolder(path: string): NodeId {
    const node = this.#mustFind(path);
    if (this.#disk.kindOf(node) !== 'folder') throw errnoError('ENOTDIR', path);
    return node;
  }

  #tell(name: Operation['name'], path: string, detail?: string): void {
    this.#watch.tell?.({ name, path, detail });
  }
}
