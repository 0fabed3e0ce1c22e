import type { IoFile } from '../../engine/io.ts';
import { soon } from './disk.ts';
import type { Disk } from './disk.ts';
import type { NodeId } from './disk-state.ts';
import { errnoError } from './operation.ts';
import type { Watch } from './operation.ts';

/** A file whose failed sync can be played: see `Disk.loseUnsynced`. */
export interface LossyFile extends IoFile {
  loseUnsynced(): void;
}

export interface Handle {
  readonly path: string;
  readonly node: NodeId;
  readonly mode: 'read' | 'write' | 'create';
}

/** An open file of a `MemoryIo`. */
export class MemoryFile implements LossyFile {
  readonly #disk: Disk;
  readonly #handle: Handle;
  readonly #watch: Watch;
  #closed = false;

  constructor(disk: Disk, handle: Handle, watch: Watch) {
    this.#disk = disk;
    this.#handle = handle;
    this.#watch = watch;
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    const { path, node } = this.#handle;
    this.#watch.tell?.({ name: 'read', path, detail: `${into.length}@${position}` });
    this.#assertOpen('read');
    return this.#disk.contentOf(node).read(into, position);
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    const { path, node } = this.#handle;
    this.#watch.tell?.({ name: 'write', path, detail: `${bytes.length}@${position}` });
    this.#assertWritable('write');
    const write = this.#disk.write(node, path, { position, bytes });
    await soon;
    this.#disk.settle(write);
    return bytes.length;
  }

  async sync(): Promise<void> {
    const { path, node } = this.#handle;
    this.#watch.tell?.({ name: 'sync', path });
    this.#assertOpen('sync');
    const calledAt = this.#disk.beginSync();
    await soon;
    this.#disk.endSync(node, calledAt);
  }

  loseUnsynced(): void {
    this.#disk.loseUnsynced(this.#handle.node);
  }

  async truncate(length: number): Promise<void> {
    const { path, node } = this.#handle;
    this.#watch.tell?.({ name: 'truncate', path, detail: String(length) });
    this.#assertWritable('truncate');
    const change = this.#disk.truncate(node, path, length);
    await soon;
    this.#disk.settle(change);
  }

  async size(): Promise<number> {
    const { path, node } = this.#handle;
    this.#watch.tell?.({ name: 'size', path });
    this.#assertOpen('size');
    return this.#disk.contentOf(node).length;
  }

  async close(): Promise<void> {
    this.#watch.tell?.({ name: 'close', path: this.#handle.path });
    this.#assertOpen('close');
    this.#closed = true;
  }

  #assertOpen(name: string): void {
    if (this.#closed) throw errnoError('EBADF', `${name} ${this.#handle.path}`);
  }

  #assertWritable(name: string): void {
    this.#assertOpen(name);
    if (this.#handle.mode === 'read') throw errnoError('EBADF', `${name} ${this.#handle.path}`);
  }
}
