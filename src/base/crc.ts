import { crc32 as zlibCrc32 } from 'node:zlib';

/** CRC-32/IEEE. With the checksum of what came before as `seed`, the one of both together. */
export function crc32(bytes: Uint8Array, seed = 0): number {
  return zlibCrc32(bytes, seed);
}
