import type { Hash } from '../base/brand.ts';
import { isSealed, isZero, seal, toBuffer } from './bytes.ts';

// aliases.log: other names of blobs. Record n is at n * 72, from 1.      docs/format/blobs.md
// 0             32              64      68      72
// | blob hash   | SHA-256       | zero  | crc32 |   crc32 covers 0..68
// | 32 bytes    | 32 bytes      | u32   | u32   |
export const ALIAS_RECORD_BYTES = 72;

export interface AliasRecord {
  readonly hash: Hash;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

export function encodeAliasRecord(record: AliasRecord): Uint8Array {
  const buffer = Buffer.alloc(ALIAS_RECORD_BYTES);
  buffer.write(record.hash, 0, 32, 'hex');
  buffer.write(record.sha256, 32, 32, 'hex');
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodeAliasRecord(bytes: Uint8Array): AliasRecord | undefined {
  if (bytes.length !== ALIAS_RECORD_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || !isZero(buffer, 64, 68)) return undefined;
  return { hash: buffer.toString('hex', 0, 32) as Hash, sha256: buffer.toString('hex', 32, 64) };
}
