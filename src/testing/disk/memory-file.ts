import type { IoFile } from '../../engine/io.ts';
import { soon } from './disk.ts';
import type { Disk } from './disk.ts';
import type { NodeId } from './disk-state.ts';
import { errnoError } from './operation.ts';
import type { Operation } from './operation.ts';

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
  readonly #watcher: (operation: Operation) => void;
  #closed = false;

  constructor(disk: Disk, handle: Handle, watcher: (operation: Operation) => void) {
    this.#disk = disk;
    this.#handle = handle;
    this.#watcher = watcher;
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    this.#begin('read', `${into.length}@${position}`);
    return this.#disk.contentOf(this.#handle.node).read(into, position);
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    this.#begin('write', `${bytes.length}@${position}`);
    const write = this.#disk.write(this.#handle.node, this.#handle.path, { position, bytes });
    await soon;
    this.#disk.settle(write);
    return bytes.length;
  }

  async sync(): Promise<void> {
    this.#begin('sync');
    const calledAt = this.#disk.beginSync();
    await soon;
    this.#disk.endSync(this.#handle.node, calledAt);
  }

  loseUnsynced(): void {
    this.#disk.loseUnsynced(this.#handle.node);
  }

  async truncate(length: number): Promise<void> {
    this.#begin('truncate', String(length));
    const change = this.#disk.truncate(this.#handle.node, this.#handle.path, length);
    await soon;
    this.#disk.settle(change);
  }

  async size(): Promise<number> {
    this.#begin('size');
    return this.#disk.contentOf(this.#handle.node).length;
  }

  async close(): Promise<void> {
    this.#begin('close');
    this.#closed = true;
  }

  #begin(name: Operation['name'], detail?: string): void {
    this.#watcher({ name, path: this.#handle.path, detail });
    const writes = name === 'write' || name === 'truncate';
    if (this.#closed || (writes && this.#handle.mode === 'read')) {
      throw errnoError('EBADF', `${name} ${this.#handle.path}`);
    }
  }
}
