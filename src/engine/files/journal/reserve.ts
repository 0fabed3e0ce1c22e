import { randomFillSync } from 'node:crypto';
import { isQuipuError } from '../../../base/errors.ts';
import { withFile, writeFully } from '../disk/file-handles.ts';
import { toQuipuError, withCodes } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';

/** Holds no data. */
const RESERVE_FILE = 'journal/reserve';

// The reserve is disk space kept for work that makes room. On a full disk a collection still needs a frame in the
// journal and a list of what is gone, and an erasure needs its tombstone. Then the reserve is released. Invariant:
// nothing that takes room is stored without the reserve. So no commit uses up the released space, and the reserve
// is restored before the first commit that needs room of its own.

const PIECE_BYTES = 1024 * 1024;

export class Reserve {
  readonly #files: StoreFiles;
  readonly #bytes: number;
  #isThere: boolean;
  #isShort = false;

  /** With `bytes` of 0 there is no reserve, and no commit waits for one. */
  constructor(files: StoreFiles, bytes: number) {
    this.#files = files;
    this.#bytes = bytes;
    this.#isThere = bytes === 0;
  }

  /** True when the reserve certainly exists. Before the first check it may exist although this is false. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /** True when the reserve was released and not restored yet. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /** Call this before anything that takes room. Throws DISK_FULL when there is not even room for the reserve. */
  async fill(): Promise<void> {
    if (this.#isThere) return;
    if ((await this.#files.size(RESERVE_FILE)) < this.#bytes) await this.#write();
    this.#isThere = true;
    this.#isShort = false;
  }

  /** Releases the reserve. Returns false when there was none. */
  async release(): Promise<boolean> {
    const bytes = this.#bytes === 0 ? 0 : await this.#files.size(RESERVE_FILE);
    if (bytes === 0) return false;
    this.#isThere = false;
    this.#isShort = true;
    await this.#remove();
    return true;
  }

  /** Runs `work`. With `may`, work that lacks room releases the reserve and is repeated. */
  lend<T>(may: boolean, work: () => Promise<T>): Promise<T> {
    return may ? this.#tryTwice(work) : work();
  }

  async #tryTwice<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isQuipuError(error, 'DISK_FULL') || !(await this.release())) throw error;
      return work();
    }
  }

  /** Writes random bytes, so that the file system cannot compress them. */
  async #write(): Promise<void> {
    const path = this.#files.pathOf(RESERVE_FILE);
    const piece = randomFillSync(new Uint8Array(Math.min(PIECE_BYTES, this.#bytes)));
    try {
      await withFile(this.#files.io, path, 'create', async (file) => {
        for (let at = 0; at < this.#bytes; at += piece.length) {
          await writeFully(file, piece.subarray(0, this.#bytes - at), at);
        }
      });
    } catch (error) {
      // A partial reserve would take room from others and be of no use.
      await this.#remove().catch(() => undefined);
      throw toQuipuError(error, path);
    }
  }

  async #remove(): Promise<void> {
    const path = this.#files.pathOf(RESERVE_FILE);
    await withCodes(path, () => this.#files.io.remove(path));
  }
}
