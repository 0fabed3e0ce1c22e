import type { ContextId, Hash, KeyHash, TurnId } from '../base/brand.ts';
import { isZero, readU64, toBuffer, writeU64 } from './bytes.ts';
import { isSealed, seal } from './crc-seal.ts';
import { IDEMPOTENCY_BYTES } from './idempotency.ts';

// turns.log: the record of turn n is at n * 128.                        docs/format/turns.md
// 0        8         16       20       24         32                 64       68      72
// | turn   | parent  | depth  | codec  | type tag | payload hash     | flags  | size  |
// | u64    | u64     | u32    | u32    | 8 bytes  | 32 bytes         | u32    | u32   |
// 72           80         88      96             112     120     124     128
// | created ms | context  | jump  | idempotency  | side  | zero  | crc32 |   little-endian
// | u64        | u64      | u64   | 16 bytes     | u64   | u32   | u32   |   crc32 covers 0..124
export const TURN_RECORD_BYTES = 128;

export interface TurnRecord {
  readonly id: TurnId;
  /** `NO_TURN` for a root. */
  readonly parent: TurnId;
  readonly depth: number;
  readonly encoding: number;
  /** 16 lower-case hex digits, see `type-line.ts`. */
  readonly typeTag: string;
  /** Undefined (zeros on disk) for an open turn. */
  readonly payload: Hash | undefined;
  readonly flags: number;
  readonly size: number;
  readonly createdAt: number;
  readonly context: ContextId;
  /** An ancestor chosen by `jump.ts`; `NO_TURN` for a root. */
  readonly jump: TurnId;
  /** The parent's jump; `NO_TURN` for a root and its children. */
  readonly sideJump: TurnId;
  /** Undefined (zeros on disk) for a turn appended without a key. */
  readonly idempotency: KeyHash | undefined;
}

const NO_HASH = '0'.repeat(64);

/** The fields of a record to write. A caller that only writes may give the jumps as numbers. */
export type TurnFields = Omit<TurnRecord, 'jump' | 'sideJump'> & {
  readonly jump: TurnId | number;
  readonly sideJump: TurnId | number;
};

/** Encodes the record at `at` of `buffer`, or into a new buffer. */
export function encodeTurnRecord(
  record: TurnFields,
  buffer: Buffer = Buffer.allocUnsafe(TURN_RECORD_BYTES),
  at = 0,
): Uint8Array {
  const end = at + TURN_RECORD_BYTES;
  buffer.fill(0, at, end);
  writeU64(buffer, Number(record.id), at);
  writeU64(buffer, Number(record.parent), at + 8);
  buffer.writeUInt32LE(record.depth, at + 16);
  buffer.writeUInt32LE(record.encoding, at + 20);
  buffer.write(record.typeTag, at + 24, 8, 'hex');
  if (record.payload !== undefined) buffer.write(record.payload, at + 32, 32, 'hex');
  buffer.writeUInt32LE(record.flags, at + 64);
  buffer.writeUInt32LE(record.size, at + 68);
  writeU64(buffer, record.createdAt, at + 72);
  writeU64(buffer, Number(record.context), at + 80);
  writeU64(buffer, Number(record.jump), at + 88);
  if (record.idempotency !== undefined) {
    buffer.write(record.idempotency, at + 96, IDEMPOTENCY_BYTES, 'hex');
  }
  writeU64(buffer, Number(record.sideJump), at + 112);
  seal(buffer, at, end);
  return buffer;
}

/** Undefined when `bytes` are not one intact record. */
export function decodeTurnRecord(bytes: Uint8Array): TurnRecord | undefined {
  if (bytes.length !== TURN_RECORD_BYTES) return undefined;
  const buffer = toBuffer(bytes);
  if (!isSealed(buffer) || !isZero(buffer, 120, 124)) return undefined;

  const id = readU64(buffer, 0);
  const parent = readU64(buffer, 8);
  const createdAt = readU64(buffer, 72);
  const context = readU64(buffer, 80);
  const jump = readU64(buffer, 88);
  if (id === undefined || parent === undefined || createdAt === undefined) return undefined;
  const sideJump = readU64(buffer, 112);
  if (context === undefined || jump === undefined || sideJump === undefined) return undefined;

  const payload = buffer.toString('hex', 32, 64);
  return {
    id: BigInt(id) as TurnId,
    parent: BigInt(parent) as TurnId,
    depth: buffer.readUInt32LE(16),
    encoding: buffer.readUInt32LE(20),
    typeTag: buffer.toString('hex', 24, 32),
    payload: payload === NO_HASH ? undefined : (payload as Hash),
    flags: buffer.readUInt32LE(64),
    size: buffer.readUInt32LE(68),
    createdAt,
    context: BigInt(context) as ContextId,
    jump: BigInt(jump) as TurnId,
    sideJump: BigInt(sideJump) as TurnId,
    idempotency: isZero(buffer, 96, 112) ? undefined : (buffer.toString('hex', 96, 112) as KeyHash),
  };
}
