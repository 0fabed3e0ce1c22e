import { closeSync, fdatasyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { compress } from '../../src/base/compress.ts';
import type { Appender } from './driver.ts';

/**
 * The least that durability can cost: the bytes that Quipu stores, appended to a file and synced. They
 * are compressed before the clock starts, and the sync blocks, so no event loop stands in its way.
 */
export class RawFile implements Appender {
  readonly #fd: number;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.#fd = openSync(join(folder, 'log'), 'a');
  }

  /** What `append` takes for `payload`. */
  static prepare(payload: Uint8Array): Uint8Array {
    return compress(payload);
  }

  async create(): Promise<number> {
    return 1;
  }

  async append(_thread: number, payload: Uint8Array): Promise<void> {
    writeSync(this.#fd, payload);
    fdatasyncSync(this.#fd);
  }

  async close(): Promise<void> {
    closeSync(this.#fd);
  }
}
