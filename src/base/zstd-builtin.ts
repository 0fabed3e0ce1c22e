import { ZSTD_LEVEL } from './zstd.ts';
import type { Zstd } from './zstd.ts';

/** The zstd functions that `node:zlib` has from Node 22.15 on. The types of Node 20 do not declare them. */
interface ZlibWithZstd {
  zstdCompressSync(
    bytes: Uint8Array,
    options: { params: Record<number, number>; pledgedSrcSize: number },
  ): Uint8Array;
  zstdDecompressSync(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array;
}

/** `ZSTD_c_compressionLevel`, a constant of the zstd library itself. */
const PARAM_LEVEL = 100;

/** Undefined when this `node:zlib` has no zstd. */
export function builtinZstd(zlib: object): Zstd | undefined {
  if (!hasZstd(zlib)) return undefined;
  return {
    compress(bytes: Uint8Array): Uint8Array {
      const params = { [PARAM_LEVEL]: ZSTD_LEVEL };
      return zlib.zstdCompressSync(bytes, { params, pledgedSrcSize: bytes.length });
    },
    decompress(bytes: Uint8Array, rawLength: number): Uint8Array {
      // The smallest limit that zlib takes is 1; `decompress` compares the length afterwards.
      return zlib.zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, rawLength) });
    },
  };
}

function hasZstd(zlib: object): zlib is ZlibWithZstd {
  return 'zstdCompressSync' in zlib && 'zstdDecompressSync' in zlib;
}
