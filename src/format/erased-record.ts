import type { Hash } from '../base/brand.ts';
import { isSealed, isZero, readU64, seal, toBuffer, writeU64 } from './bytes.ts';

// blobs/erased.log: which bytes of which pack were erased. Record n is at n * 72, from 0.
// 0            32      36      40        48        56           64      68      72
// | blob hash  | pack  | zero  | offset  | length  | erased ms  | zero  | crc32 |
// | 32 bytes   | u32   | u32   | u64     | u64     | u64        | u32   | u32   |   crc32 covers 0..68
export const ERASED_RECORD_BYTES = 72;

export interface ErasedRecord {
  readonly hash: Hash;
  /** The place of the record at the time. A collection may have moved or dropped it since. */
  readonly pack: number;
  readonly offset: number;
  readonly length: number;
  readonly erasedAt: number;
}

export function encodeErasedRecord(record: ErasedRecord): Uint8Array {
  const buffer = Buffer.alloc(ERASED_RECORD_BYTES);
  buffer.write(record.hash, 0, 32, 'hex');
  buffer.writeUInt32LE(record.pack, 32);
  writeU64(buffer, record.offset, 40);
  writeU64(buffer, record.length, 48);
  writeU64(buffer, record.erasedAt, 56);
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodeErasedRecord(bytes: Uint8Array): ErasedRecord | undefined {
  if (bytes.length !== ERASED_RECORD_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || !isZero(buffer, 36, 40) || !isZero(buffer, 64, 68)) return undefined;
  const offset = readU64(buffer, 40);
  const length = readU64(buffer, 48);
  const erasedAt = readU64(buffer, 56);
  if (offset === undefined || length === undefined || erasedAt === undefined) return undefined;
  const hash = buffer.toString('hex', 0, 32) as Hash;
  return { hash, pack: buffer.readUInt32LE(32), offset, length, erasedAt };
}
