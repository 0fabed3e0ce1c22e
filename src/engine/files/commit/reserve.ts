import { randomFillSync } from 'node:crypto';
import { closeAll } from '../disk/close-all.ts';
import { toQuipuError } from '../disk/io-error.ts';
import { RESERVE_FILE } from '../names.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { writeFully } from '../disk/write-fully.ts';

// Room that is kept for what makes room. On a full disk a collection still needs a frame in the journal and a
// list of what is gone, and an erasure its tombstone: the reserve is let go then.
// Invariant: nothing that takes room is stored without it. So nobody uses up what was let go, and it is there
// again before the first commit that needs room of its own.

const PIECE_BYTES = 1024 * 1024;

export class Reserve {
  readonly #files: StoreFiles;
  readonly #bytes: number;
  #isThere: boolean;
  #isShort = false;

  /** `bytes` of 0: there is none, and nobody waits for one. */
  constructor(files: StoreFiles, bytes: number) {
    this.#files = files;
    this.#bytes = bytes;
    this.#isThere = bytes === 0;
  }

  /** For certain; it may be there when nobody has looked yet. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /** It was let go, and is not there again. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /** Before anything that takes room. DISK_FULL when there is not even room for the reserve. */
  async fill(): Promise<void> {
    if (this.#isThere) return;
    if ((await this.#files.size(RESERVE_FILE)) < this.#bytes) await this.#write();
    this.#isThere = true;
    this.#isShort = false;
  }

  /** Lets it go; false when there was none. */
  async release(): Promise<boolean> {
    const bytes = this.#bytes === 0 ? 0 : await this.#files.size(RESERVE_FILE);
    if (bytes === 0) return false;
    this.#isThere = false;
    this.#isShort = true;
    await this.#remove();
    return true;
  }

  /** What lies in it must not be squeezed together by the file system. */
  async #write(): Promise<void> {
    const path = this.#files.pathOf(RESERVE_FILE);
    const piece = randomFillSync(new Uint8Array(Math.min(PIECE_BYTES, this.#bytes)));
    try {
      const file = await this.#files.io.open(path, 'create');
      const write = async (): Promise<void> => {
        for (let at = 0; at < this.#bytes; at += piece.length) {
          await writeFully(file, piece.subarray(0, this.#bytes - at), at);
        }
      };
      await closeAll([write, () => file.close()]);
    } catch (error) {
      // Half of it would keep others from the room, and be of no use.
      await this.#remove().catch(() => undefined);
      throw toQuipuError(error, path);
    }
  }

  async #remove(): Promise<void> {
    const path = this.#files.pathOf(RESERVE_FILE);
    try {
      await this.#files.io.remove(path);
    } catch (error) {
      throw toQuipuError(error, path);
    }
  }
}
