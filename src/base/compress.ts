import * as zlib from 'node:zlib';
import type { Zstd } from './zstd.ts';
import { builtinZstd, napiZstd } from './zstd.ts';

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
