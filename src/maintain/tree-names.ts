import type { Hash } from '../base/brand.ts';
import { QuipuError, isQuipuError } from '../base/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { HashScan, mayNameHashes } from './hash-scan.ts';

/** After this many lookups the scan yields the JavaScript thread to other work. */
const LOOKUPS_AT_ONCE = 500;

/**
 * The stored blobs whose hashes stand in a blob's bytes: the blobs that a tree names, and nothing for most files.
 * Memory stays bounded whatever the size. A blob that is gone names nothing; a damaged one is CORRUPT.
 */
export async function* readTreeNames(engine: Engine, hash: Hash): AsyncGenerator<Hash> {
  const scan = new HashScan();
  let isFirst = true;
  let lookups = 0;
  try {
    for await (const piece of engine.readBlob(hash)) {
      if (isFirst && !mayNameHashes(piece[0] ?? 0)) return;
      isFirst = false;
      for (const found of scan.take(piece)) {
        if (await engine.hasBlob(found)) yield found;
        lookups += 1;
        if (lookups % LOOKUPS_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    }
  } catch (error) {
    if (isQuipuError(error, 'NOT_FOUND')) return;
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    const message = `nothing more is collected, because a blob of a file system cannot be read: ${error.message}`;
    throw new QuipuError('CORRUPT', message, error.data, { cause: error });
  }
}
