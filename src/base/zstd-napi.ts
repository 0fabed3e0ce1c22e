import type * as binding from 'zstd-napi/binding.js';
import { loadNative } from './load-native.ts';
import { ZSTD_LEVEL } from './zstd.ts';
import type { Zstd } from './zstd.ts';

/** Larger inputs get an output buffer of their own, so that one of them pins no memory. */
const SCRATCH_INPUT_BYTES = 128 * 1024;

/** For a Node without zstd. Loaded on demand: elsewhere the native module need not even be built. */
export function napiZstd(): Zstd {
  return loadNative('zstd-napi/binding.js', start);
}

function start(zstd: typeof binding): Zstd {
  const compressor = new zstd.CCtx();
  const decompressor = new zstd.DCtx();
  const scratch = Buffer.allocUnsafeSlow(zstd.compressBound(SCRATCH_INPUT_BYTES));
  return {
    compress(bytes: Uint8Array): Uint8Array {
      const fits = bytes.length <= SCRATCH_INPUT_BYTES;
      const into = fits ? scratch : Buffer.allocUnsafe(zstd.compressBound(bytes.length));
      const length = compressor.compress(into, bytes, ZSTD_LEVEL);
      return Buffer.from(into.subarray(0, length));
    },
    decompress(
      bytes: Uint8Array,
      rawLength: number,
      into: Uint8Array = Buffer.allocUnsafe(rawLength),
    ): Uint8Array {
      return into.subarray(0, decompressor.decompress(into, bytes));
    },
  };
}
