import * as zlib from 'node:zlib';
import type { Zstd } from './zstd.ts';
import { builtinZstd } from './zstd-builtin.ts';
import { napiZstd } from './zstd-napi.ts';

const zstd: Zstd = builtinZstd(zlib) ?? napiZstd();

/** One zstd frame. May be longer than `bytes`: the caller decides whether it pays. */
export function compress(bytes: Uint8Array): Uint8Array {
  return zstd.compress(bytes);
}

/**
 * The `rawLength` bytes that `compress` was given. Throws a plain Error when the input is damaged or
 * holds another number of bytes; a forged input cannot make it yield or allocate more than that.
 */
export function decompress(bytes: Uint8Array, rawLength: number): Uint8Array {
  const raw = zstd.decompress(bytes, rawLength);
  if (raw.length === rawLength) return raw;
  throw new Error(`expected ${rawLength} bytes after decompression, got ${raw.length}`);
}
