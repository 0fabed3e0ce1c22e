import type { ContextId, TurnId } from '../base/brand.ts';
import { isSealed, readU64, seal, toBuffer, writeU64 } from './bytes.ts';

/** Bits of the `flags` of a context's head. Those marked "reads only" are never stored. */
export const ContextFlag = {
  /** Stored only: the context was removed. It reads as if it were not there. */
  REMOVED: 1,
  /** Reads only: a turn is being streamed into it. */
  OPEN: 2,
  /** Reads only: it was forked from a turn. */
  FORKED: 4,
} as const;

// heads.tbl: the record of context n is at n * 64.                      docs/format/heads.md
// 0          8       16      24      32           40           48      52      56           60      64
// | context  | head  | base  | open  | created ms | updated ms | depth | flags | open bytes | crc32 |
// | u64      | u64   | u64   | u64   | u64        | u64        | u32   | u32   | u32        | u32   |
// little-endian; flags: 1 removed, the rest zero; crc32 covers 0..60
export const HEAD_RECORD_BYTES = 64;

export interface HeadRecord {
  readonly id: ContextId;
  /** `NO_TURN`, 0, while the context is empty. */
  readonly head: TurnId;
  /** Depth of the head; 0 also for an empty context. */
  readonly headDepth: number;
  /** The turn that the context was forked from. `NO_TURN`, 0, for a fresh context. */
  readonly base: TurnId;
  /** The turn being streamed into, or `NO_TURN`, 0. */
  readonly openTurn: TurnId;
  /** Acknowledged bytes of the open turn; 0 without one. */
  readonly openBytes: number;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  /** Time of the last append, seal or creation. */
  readonly updatedAt: number;
  readonly removed: boolean;
}

/** Encodes the record at `at` of `buffer`, or into a new buffer. */
export function encodeHeadRecord(
  record: HeadRecord,
  buffer: Buffer = Buffer.allocUnsafe(HEAD_RECORD_BYTES),
  at = 0,
): Uint8Array {
  writeU64(buffer, Number(record.id), at);
  writeU64(buffer, Number(record.head), at + 8);
  writeU64(buffer, Number(record.base), at + 16);
  writeU64(buffer, Number(record.openTurn), at + 24);
  writeU64(buffer, record.createdAt, at + 32);
  writeU64(buffer, record.updatedAt, at + 40);
  buffer.writeUInt32LE(record.headDepth, at + 48);
  buffer.writeUInt32LE(record.removed ? ContextFlag.REMOVED : 0, at + 52);
  buffer.writeUInt32LE(record.openBytes, at + 56);
  seal(buffer, at, at + HEAD_RECORD_BYTES);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodeHeadRecord(bytes: Uint8Array): HeadRecord | undefined {
  if (bytes.length !== HEAD_RECORD_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer)) return undefined;

  const flags = buffer.readUInt32LE(52);
  const id = readU64(buffer, 0);
  const head = readU64(buffer, 8);
  const base = readU64(buffer, 16);
  const openTurn = readU64(buffer, 24);
  const createdAt = readU64(buffer, 32);
  const updatedAt = readU64(buffer, 40);
  if (flags > ContextFlag.REMOVED || id === undefined || head === undefined) return undefined;
  if (base === undefined || openTurn === undefined) return undefined;
  if (createdAt === undefined || updatedAt === undefined) return undefined;

  return {
    id: BigInt(id) as ContextId,
    head: BigInt(head) as TurnId,
    headDepth: buffer.readUInt32LE(48),
    base: BigInt(base) as TurnId,
    openTurn: BigInt(openTurn) as TurnId,
    openBytes: buffer.readUInt32LE(56),
    createdAt,
    updatedAt,
    removed: flags === ContextFlag.REMOVED,
  };
}
