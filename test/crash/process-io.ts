import type { Io, IoFile, IoLock } from '../../src/engine/io.ts';

// The disk as one process sees it. A killed process loses nothing that it wrote: the kernel has it, and
// a power cut later can still take what was never synced. So a store that is opened again after a kill
// reads bytes that are not durable yet, and must not build on them as if they were.

/** What a dead process waits for never comes. */
const NEVER: Promise<never> = new Promise(() => undefined);

export class ProcessIo implements Io {
  readonly #disk: Io;
  readonly #locks = new Set<IoLock>();
  #left = Infinity;
  #onDeath: () => void = () => undefined;

  constructor(disk: Io) {
    this.#disk = disk;
  }

  /** The process will die before the operation after the next `count` ones; resolves when it has. */
  dieAfter(count: number): Promise<void> {
    this.#left = count;
    return new Promise((resolve) => {
      this.#onDeath = resolve;
    });
  }

  /** Dead from now on, if it was not already; the kernel lets go of its locks. */
  async kill(): Promise<void> {
    this.#left = 0;
    for (const lock of this.#locks) await lock.release().catch(() => undefined);
  }

  async open(path: string, mode: 'read' | 'write' | 'create'): Promise<IoFile> {
    const file = await this.#live(() => this.#disk.open(path, mode));
    return {
      read: (into, position) => this.#live(() => file.read(into, position)),
      write: (bytes, position) => this.#live(() => file.write(bytes, position)),
      sync: () => this.#live(() => file.sync()),
      truncate: (length) => this.#live(() => file.truncate(length)),
      size: () => this.#live(() => file.size()),
      close: () => this.#live(() => file.close()),
    };
  }

  stat(path: string): ReturnType<Io['stat']> {
    return this.#live(() => this.#disk.stat(path));
  }

  mkdir(path: string): Promise<void> {
    return this.#live(() => this.#disk.mkdir(path));
  }

  list(path: string): Promise<string[]> {
    return this.#live(() => this.#disk.list(path));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#live(() => this.#disk.rename(from, to));
  }

  link(from: string, to: string): Promise<void> {
    return this.#live(() => this.#disk.link(from, to));
  }

  remove(path: string): Promise<void> {
    return this.#live(() => this.#disk.remove(path));
  }

  removeFolder(path: string): Promise<void> {
    return this.#live(() => this.#disk.removeFolder(path));
  }

  syncDir(path: string): Promise<void> {
    return this.#live(() => this.#disk.syncDir(path));
  }

  freeBytes(path: string): Promise<number> {
    return this.#live(() => this.#disk.freeBytes(path));
  }

  async lock(path: string, owner: string): Promise<IoLock> {
    const lock = await this.#live(() => this.#disk.lock(path, owner));
    this.#locks.add(lock);
    return { release: () => this.#live(() => lock.release()) };
  }

  #live<T>(act: () => Promise<T>): Promise<T> {
    if (this.#left <= 0) {
      this.#onDeath();
      return NEVER;
    }
    this.#left -= 1;
    return act();
  }
}
