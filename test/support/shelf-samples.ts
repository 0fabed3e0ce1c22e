import type { KeyHash } from '../../src/base/brand.ts';
import { hashBytes } from '../../src/base/hash.ts';
import { NO_TOTALS } from '../../src/engine/files/index/shelf.ts';
import type { BlobPlace, ShelfBatch } from '../../src/engine/files/index/shelf.ts';

/** A batch with what is given and nothing else. */
export function shelfBatch(part: Partial<ShelfBatch> = {}): ShelfBatch {
  return {
    blobs: [],
    sha256: [],
    keys: [],
    patches: [],
    contexts: [],
    contextMeta: [],
    docs: [],
    logs: [],
    gonePacks: [],
    totals: NO_TOTALS,
    positions: {},
    ...part,
  };
}

/** The nth sample blob; `pack` tells its places apart. */
export function samplePlace(n: number, pack = 1): BlobPlace {
  const hash = hashBytes(Buffer.from(`blob ${n}`));
  return { hash, pack, offset: n * 100, rawLength: n, storedLength: n % 50, codec: n % 3 };
}

/** The nth sample idempotency key. */
export function sampleKey(n: number): KeyHash {
  return hashBytes(Buffer.from(`key ${n}`)).slice(0, 32) as KeyHash;
}
