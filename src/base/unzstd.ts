import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import type * as napi from 'zstd-napi';
import { loadNative } from './load-native.ts';

/** Functions of `node:zlib` from Node 22.15 on. The types of Node 20 do not declare them. */
interface ZlibWithZstd {
  createZstdDecompress(): Transform;
}

/** A stream that undoes zstd, for files that are larger than memory. */
export function createUnzstd(): Transform {
  if ('createZstdDecompress' in zlib)
    return (zlib as unknown as ZlibWithZstd).createZstdDecompress();
  return loadNative('zstd-napi', ({ DecompressStream }: typeof napi) => new DecompressStream());
}
