import { isSealed, isZero, readU64, seal, toBuffer, writeU64, zeroed } from './bytes.ts';

// extents/<log name>.ext: extent n is at n * 32.                        docs/format/docs-and-logs.md
// 0             8           16             20      24      28      32
// | end offset  | end line  | content crc  | flags | zero  | crc32 |   little-endian
// | u64         | u64       | u32          | u32=0 | u32   | u32   |   crc32 covers 0..28
export const LOG_EXTENT_BYTES = 32;

/** A run of whole lines of a log, from the end of the extent before it. */
export interface LogExtent {
  /** The offset in the log after its last byte. */
  readonly endOffset: number;
  /** The number of lines in the log up to the end of this extent. */
  readonly endLine: number;
  /** CRC-32 of the extent's bytes in the log. */
  readonly contentCrc: number;
}

export function encodeLogExtent(extent: LogExtent): Uint8Array {
  const buffer = zeroed(LOG_EXTENT_BYTES);
  writeU64(buffer, extent.endOffset, 0);
  writeU64(buffer, extent.endLine, 8);
  buffer.writeUInt32LE(extent.contentCrc, 16);
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodeLogExtent(bytes: Uint8Array): LogExtent | undefined {
  if (bytes.length !== LOG_EXTENT_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || !isZero(buffer, 20, 28)) return undefined;
  const endOffset = readU64(buffer, 0);
  const endLine = readU64(buffer, 8);
  if (endOffset === undefined || endLine === undefined) return undefined;
  return { endOffset, endLine, contentCrc: buffer.readUInt32LE(16) };
}
