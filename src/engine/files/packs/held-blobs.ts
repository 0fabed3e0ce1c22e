import type { Hash } from '../../../base/brand.ts';

/** Blobs that an unfinished put relies on, before any commit says so. */
export interface Hold {
  add(hash: Hash): void;
  /** All blobs that were added so far. */
  readonly hashes: readonly Hash[];
  end(): void;
}

export class HeldBlobs {
  readonly #holds: Set<Set<Hash>> = new Set();

  start(): Hold {
    const hashes = new Set<Hash>();
    this.#holds.add(hashes);
    return {
      add: (hash) => {
        hashes.add(hash);
      },
      get hashes() {
        return [...hashes];
      },
      end: () => {
        this.#holds.delete(hashes);
      },
    };
  }

  *hashes(): Generator<Hash> {
    for (const hashes of this.#holds) yield* hashes;
  }

  has(hash: Hash): boolean {
    for (const hashes of this.#holds) if (hashes.has(hash)) return true;
    return false;
  }
}
