import type { StateWriter } from '../truth/state.ts';
import type { Hash } from '../../../base/brand.ts';
import { isQuipuError } from '../../../base/errors.ts';
import { toQuipuError } from '../disk/io-error.ts';

/**
 * Reads the bytes of a blob, piece by piece. While a frame reaches the files, the index may still lead to a pack
 * that is gone. Bytes that look damaged then are read again between two frames, from the same position.
 */
export async function* readSteadily(
  writer: StateWriter,
  hash: Hash,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  let at = start;
  let apart = false;
  let mended = false;
  const begin = (): AsyncGenerator<Uint8Array> => writer.core.blobs.read(hash, at, end);
  for (let pieces = begin(); ;) {
    const before = writer.moves;
    let next: IteratorResult<Uint8Array>;
    try {
      const current = pieces;
      next = await (apart ? writer.exclusively(() => current.next()) : current.next());
    } catch (error) {
      const isMoving = before % 2 === 1 || before !== writer.moves;
      if (isQuipuError(error, 'CORRUPT') && isMoving && !apart) apart = true;
      else if (mended || !(await writer.mendBetween(error))) {
        throw toQuipuError(error, writer.core.files.root);
      } else mended = true;
      pieces = begin();
      continue;
    }
    if (next.done === true) return;
    apart = false;
    at += next.value.length;
    yield next.value;
  }
}
