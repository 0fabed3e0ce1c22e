import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import type * as napi from 'zstd-napi';
import type * as binding from 'zstd-napi/binding.js';
import { loadNative } from './load-native.ts';

/** Loaded at its first use: where it is missing, what needs none still works, and the error has somebody to go to. */
let zstd: Zstd | undefined;

function loaded(): Zstd {
  zstd ??= builtinZstd(zlib) ?? napiZstd();
  return zstd;
}

/** The smallest block of zstd is one byte repeated: a header of 3 bytes and the byte (RFC 8878, 3.1.1.2). */
const BLOCK_BYTES_MIN = 4;
/** No block holds more. */
const BLOCK_RAW_BYTES_MAX = 128 * 1024;

/** One zstd frame. May be longer than `bytes`: the caller decides whether it pays. */
export function compress(bytes: Uint8Array): Uint8Array {
  return loaded().compress(bytes);
}

/**
 * The `rawLength` bytes that `compress` was given. Throws a plain Error when the input is damaged or
 * holds another number of bytes; a forged input cannot make it yield or allocate more than that.
 * With `into`, of `rawLength` bytes, the result may be there and not in memory of its own.
 */
export function decompress(bytes: Uint8Array, rawLength: number, into?: Uint8Array): Uint8Array {
  if (rawLength > Math.ceil(bytes.length / BLOCK_BYTES_MIN) * BLOCK_RAW_BYTES_MAX) {
    throw new Error(`${bytes.length} bytes of zstd cannot hold ${rawLength}`);
  }
  const raw = loaded().decompress(bytes, rawLength, into);
  if (raw.length === rawLength) return raw;
  throw new Error(`expected ${rawLength} bytes after decompression, got ${raw.length}`);
}

/** One implementation of zstd. Each implementation reads the output of every other. */
export interface Zstd {
  compress(bytes: Uint8Array): Uint8Array;
  /**
   * Yields at most `rawLength` bytes, in `into` where the implementation can do that. Throws on damaged input or when
   * there would be more.
   */
  decompress(bytes: Uint8Array, rawLength: number, into?: Uint8Array): Uint8Array;
}

/** The fastest of the regular levels, because every append compresses. */
export const ZSTD_LEVEL = 1;

/** The zstd functions that `node:zlib` has from Node 22.15 on. The types of Node 20 do not declare them. */
interface ZlibWithZstd {
  zstdCompressSync(
    bytes: Uint8Array,
    options: { params: Record<number, number>; pledgedSrcSize: number },
  ): Uint8Array;
  zstdDecompressSync(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array;
  createZstdDecompress(): Transform;
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

/** A stream that undoes zstd, for files that are larger than memory. */
export function createUnzstd(): Transform {
  if (hasZstd(zlib)) return zlib.createZstdDecompress();
  return loadNative('zstd-napi', ({ DecompressStream }: typeof napi) => new DecompressStream());
}
