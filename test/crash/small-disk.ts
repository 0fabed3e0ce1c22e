import type { Io, IoFile, IoLock } from '../../src/engine/io.ts';
import { errnoError } from '../../src/testing/disk/operation.ts';

const BLOCK_BYTES = 4096;

/**
 * A disk that is full from its `fullAt`th operation on, because someone else took what was left. What is freed
 * afterwards can be used, a file that is written over needs no room, and names take none.
 */
export class SmallDisk implements Io {
  readonly #inner: Io;
  #fullAt: number;
  #operations = 0;
  #free = Infinity;

  constructor(inner: Io, fullAt: number = Infinity) {
    this.#inner = inner;
    this.#fullAt = fullAt;
  }

  get operations(): number {
    return this.#operations;
  }

  /** Someone takes everything that is free. */
  fill(): void {
    this.#free = 0;
  }

  /** There is as much room again as anyone wants. */
  clear(): void {
    this.#fullAt = Infinity;
    this.#free = Infinity;
  }

  async open(path: string, mode: 'read' | 'write' | 'create'): Promise<IoFile> {
    this.#count();
    return new SmallFile(await this.#inner.open(path, mode), this);
  }

  stat(path: string): ReturnType<Io['stat']> {
    return this.#inner.stat(path);
  }

  mkdir(path: string): Promise<void> {
    this.#count();
    return this.#inner.mkdir(path);
  }

  list(path: string): Promise<string[]> {
    return this.#inner.list(path);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#count();
    const before = await this.#blocksOf(to);
    await this.#inner.rename(from, to);
    this.take(-before);
  }

  link(from: string, to: string): Promise<void> {
    this.#count();
    return this.#inner.link(from, to);
  }

  async remove(path: string): Promise<void> {
    this.#count();
    const before = await this.#blocksOf(path);
    await this.#inner.remove(path);
    this.take(-before);
  }

  removeFolder(path: string): Promise<void> {
    return this.#inner.removeFolder(path);
  }

  syncDir(path: string): Promise<void> {
    this.#count();
    return this.#inner.syncDir(path);
  }

  async freeBytes(): Promise<number> {
    return this.#free;
  }

  lock(path: string, owner: string): Promise<IoLock> {
    return this.#inner.lock(path, owner);
  }

  /** As many of these blocks as there are; a negative number gives some back. */
  take(blocks: number): number {
    const taken = Math.min(blocks, Math.floor(this.#free / BLOCK_BYTES));
    this.#free -= taken * BLOCK_BYTES;
    return taken;
  }

  #count(): void {
    this.#operations += 1;
    if (this.#operations === this.#fullAt) this.fill();
  }

  /** Of a file's operation. */
  tell(): void {
    this.#count();
  }

  async #blocksOf(path: string): Promise<number> {
    const stat = await this.#inner.stat(path);
    return stat?.kind === 'file' ? blocksIn(stat.size) : 0;
  }
}

class SmallFile implements IoFile {
  readonly #inner: IoFile;
  readonly #disk: SmallDisk;

  constructor(inner: IoFile, disk: SmallDisk) {
    this.#inner = inner;
    this.#disk = disk;
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return this.#inner.read(into, position);
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    this.#disk.tell();
    const has = blocksIn(await this.#inner.size());
    const wants = Math.max(0, blocksIn(position + bytes.length) - has);
    const room = (has + this.#disk.take(wants)) * BLOCK_BYTES - position;
    if (room <= 0) throw errnoError('ENOSPC', 'write');
    return this.#inner.write(bytes.subarray(0, room), position);
  }

  sync(): Promise<void> {
    this.#disk.tell();
    return this.#inner.sync();
  }

  async truncate(length: number): Promise<void> {
    this.#disk.tell();
    const has = blocksIn(await this.#inner.size());
    const wants = blocksIn(length) - has;
    if (this.#disk.take(wants) < wants) throw errnoError('ENOSPC', 'truncate');
    await this.#inner.truncate(length);
  }

  size(): Promise<number> {
    return this.#inner.size();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

function blocksIn(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES);
}
