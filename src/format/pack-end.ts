import { isSealed, isZero, readU64, seal, toBuffer, writeU64 } from './bytes.ts';

// The last record of a full pack.                                       docs/format/blobs.md
// 0        4          6       8        12      16        24      28
// | magic  | version  | zero  | count  | zero  | length  | crc32 |   little-endian
// | QEND   | u16 = 1  | u16   | u32    | u32   | u64     | u32   |   crc32 covers 0..24
export const PACK_END_BYTES = 28;

const MAGIC = 'QEND';
const VERSION = 1;

export interface PackEnd {
  /** Blob records in the pack. */
  readonly count: number;
  /** Bytes of the pack before this record. */
  readonly length: number;
}

export function encodePackEnd(end: PackEnd): Uint8Array {
  const buffer = Buffer.alloc(PACK_END_BYTES);
  buffer.write(MAGIC, 0, 'latin1');
  buffer.writeUInt16LE(VERSION, 4);
  buffer.writeUInt32LE(end.count, 8);
  writeU64(buffer, end.length, 16);
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodePackEnd(bytes: Uint8Array): PackEnd | undefined {
  if (bytes.length !== PACK_END_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || buffer.toString('latin1', 0, 4) !== MAGIC) return undefined;
  if (buffer.readUInt16LE(4) !== VERSION) return undefined;
  if (!isZero(buffer, 6, 8) || !isZero(buffer, 12, 16)) return undefined;
  const length = readU64(buffer, 16);
  return length === undefined ? undefined : { count: buffer.readUInt32LE(8), length };
}
