import type { ContextId, Hash, KeyHash, TurnId } from '../base/brand.ts';
import { isSealed, isZero, readU64, seal, toBuffer, writeU64 } from './bytes.ts';
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
  /** `NO_TURN`, 0, for a root. */
  readonly parent: TurnId;
  /** 0 for a root. */
  readonly depth: number;
  /** See `Encoding`; unknown numbers are kept as given. */
  readonly encoding: number;
  /** 16 lower-case hex digits, see `type-line.ts`. */
  readonly typeTag: string;
  /** Undefined (zeros on disk) for an open turn. */
  readonly payload: Hash | undefined;
  /** Bits of `TurnFlag`. */
  readonly flags: number;
  readonly size: number;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  /** The context that the turn was appended to. Forks share turns, so other contexts may lead here, too. */
  readonly context: ContextId;
  /** An ancestor, see `jumpDepth`; `NO_TURN` for a root. */
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

/** Bits of a turn's `flags`. Bits marked "reads only" are never stored. */
export const TurnFlag = {
  /** The turn is being streamed and has no payload hash yet. */
  OPEN: 1,
  /** The turn's writer gave up. The payload holds the bytes that had arrived. */
  ABORTED: 2,
  /** The turn's writer went away. The payload holds the bytes that had arrived. */
  INTERRUPTED: 4,
  /** Reads only: an overlay replaced the payload. */
  PATCHED: 8,
  /** Reads only: an overlay hides the payload. */
  TOMBSTONE: 16,
  /** The turn was appended with a file-system root. Reads also set this bit when a root was attached later. */
  FS_ROOT: 32,
  /** The caller named the parent. Without this bit the parent was the head. */
  PARENT_GIVEN: 65_536,
  /** The second or a later turn of one batch with an idempotency key. */
  CONTINUES: 131_072,
} as const;

/** Says how to read the payload of a turn. The numbers are stored. Unknown numbers are kept as given. */
export const Encoding = {
  bytes: 0,
  msgpack: 1,
  json: 2,
  /** UTF-8. */
  text: 3,
  cbor: 4,
  /** From here on programs that share a schema know the value, and this library keeps the bytes. */
  protobuf: 5,
  flatbuffers: 6,
  capnp: 7,
  gob: 8,
} as const;

export type EncodingName = keyof typeof Encoding;

// Jumps. The functions below compute from depths alone which ancestor a jump names.   docs/format/turns.md
//
// Write a depth as a sum of numbers 2^k - 1, the largest first: every size comes once, but the last
// may come twice (skew binary). A turn jumps over the last number of its own depth. So a walk towards
// any depth takes the jump when that does not overshoot and the parent otherwise, and needs less than
// 2 log2(n) steps on average and 3 log2(n) at worst; and a child finds its jump from its parent's,
// without a walk.

/** The depth of the jump target of a turn at `depth`. A root has none; it answers 0. */
export function jumpDepth(depth: number): number {
  let rest = depth;
  let last = 0;
  while (rest > 0) {
    last = largestTerm(rest);
    rest -= last;
  }
  return depth - last;
}

/**
 * Whether the child of a turn at `parentDepth` jumps to the jump of the parent's jump; otherwise it
 * jumps to the parent. True when the parent's two last numbers are equal: the child merges them.
 */
export function jumpsToGrandJump(parentDepth: number): boolean {
  const middle = jumpDepth(parentDepth);
  return middle > 0 && parentDepth - middle === middle - jumpDepth(middle);
}

/** The largest 2^k - 1 that is not above `n`. Depths are u32, and so is n + 1 but for the last one. */
function largestTerm(n: number): number {
  // A shift, because a power takes ten times as long, and every turn asks a few times.
  return n === 0xffff_ffff ? n : (0x8000_0000 >>> Math.clz32(n + 1)) - 1;
}

type Step = 'parent' | 'jump' | 'side';

/** Picks the one of a turn's three pointers that leads from `depth` closest to its ancestor at `target`. */
export function stepTowards(depth: number, target: number): Step {
  const jump = jumpDepth(depth);
  const side = jumpDepth(depth - 1);
  if (side >= target && side < jump) return 'side';
  if (jump >= target) return 'jump';
  return side >= target ? 'side' : 'parent';
}
