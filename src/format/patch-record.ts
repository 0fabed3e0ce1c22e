import type { Hash, TurnId } from '../base/brand.ts';
import { isSealed, isZero, readU64, seal, toBuffer, writeU64, zeroed } from './bytes.ts';

// patches.log: the record of patch n is at n * 96.                      docs/format/patches.md
// 0       8      16              48      52      56     60      64           72      92      96
// | turn  | seq  | payload hash  | flags | codec | size | zero  | created ms | zeros | crc32 |
// | u64   | u64  | 32 bytes      | u32   | u32   | u32  | u32   | u64        | 20    | u32   |
// little-endian; flags: 1 tombstone or 2 file-system root, the rest zero; crc32 covers 0..92
export const PATCH_RECORD_BYTES = 96;

/** With this hash, turn 0 and the file-system root flag, a record says only that its number is taken. */
export const NO_HASH: Hash = '0'.repeat(64) as Hash;

const FLAG_TOMBSTONE = 1;
const FLAG_FS_ROOT = 2;

export interface PatchRecord {
  readonly turn: TurnId;
  /** Counts from 1 over the whole store, patches and file-system roots together. */
  readonly seq: number;
  /** The new payload; for a tombstone the reason as UTF-8 text; for a file-system root its tree. */
  readonly payload: Hash;
  readonly tombstone: boolean;
  /** Never together with `tombstone`. */
  readonly fsRoot: boolean;
  readonly encoding: number;
  readonly size: number;
  readonly createdAt: number;
}

export function encodePatchRecord(record: PatchRecord): Uint8Array {
  const buffer = zeroed(PATCH_RECORD_BYTES);
  writeU64(buffer, Number(record.turn), 0);
  writeU64(buffer, record.seq, 8);
  buffer.write(record.payload, 16, 32, 'hex');
  buffer.writeUInt32LE(
    (record.tombstone ? FLAG_TOMBSTONE : 0) | (record.fsRoot ? FLAG_FS_ROOT : 0),
    48,
  );
  buffer.writeUInt32LE(record.encoding, 52);
  buffer.writeUInt32LE(record.size, 56);
  writeU64(buffer, record.createdAt, 64);
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodePatchRecord(bytes: Uint8Array): PatchRecord | undefined {
  if (bytes.length !== PATCH_RECORD_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || !isZero(buffer, 60, 64) || !isZero(buffer, 72, 92)) return undefined;

  const flags = buffer.readUInt32LE(48);
  const turn = readU64(buffer, 0);
  const seq = readU64(buffer, 8);
  const createdAt = readU64(buffer, 64);
  if (flags > FLAG_FS_ROOT || turn === undefined) return undefined;
  if (seq === undefined || createdAt === undefined) return undefined;

  return {
    turn: BigInt(turn) as TurnId,
    seq,
    payload: buffer.toString('hex', 16, 48) as Hash,
    tombstone: flags === FLAG_TOMBSTONE,
    fsRoot: flags === FLAG_FS_ROOT,
    encoding: buffer.readUInt32LE(52),
    size: buffer.readUInt32LE(56),
    createdAt,
  };
}
