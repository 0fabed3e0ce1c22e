import { messageOf } from '../../base/errors.ts';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { createUnzstd } from '../../base/compress.ts';
import type { SourceFile } from '../source/source.ts';

/** A file to read by position. Disposing of it removes what was unpacked. */
interface Unpacked extends AsyncDisposable {
  readonly path: string;
}

/** A packed file is damaged, or is gone. */
export class NotUnpacked extends Error {}

/** A session is not larger. A few megabytes of zstd can be made to unpack to more than any disk has. */
const UNPACKED_BYTES_MAX = 4 * 1024 ** 3;

/** A packed file is unpacked into a folder of its own, so that memory stays bounded whatever its size. */
export async function unpack(
  { path, packed }: Pick<SourceFile, 'path' | 'packed'>,
  maxBytes: number = UNPACKED_BYTES_MAX,
): Promise<Unpacked> {
  if (packed === undefined) return { path, [Symbol.asyncDispose]: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), 'quipu-import-'));
  const to = join(folder, 'unpacked');
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const unpacker = packed === 'zstd' ? createUnzstd() : createGunzip();
    const bounded = (pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> =>
      upTo(pieces, maxBytes);
    const file = createWriteStream(to, { mode: 0o600 });
    await pipeline(createReadStream(path), unpacker, bounded, file);
  } catch (error) {
    await remove();
    throw new NotUnpacked(messageOf(error));
  }
  return { path: to, [Symbol.asyncDispose]: remove };
}

async function* upTo(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let left = maxBytes;
  for await (const piece of pieces) {
    left -= piece.length;
    if (left < 0) throw new Error(`it unpacks to more than ${maxBytes} bytes`);
    yield piece;
  }
}
