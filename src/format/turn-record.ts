import type { ContextId, Hash, KeyHash, TurnId } from '../base/brand.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { hashRaw, hexOf } from '../base/hash.ts';
import { encodeUtf8 } from '../base/text.ts';
import { crc32, CRC_BYTES, isSealed, isZero, readU64, seal, toBuffer, writeU64 } from './bytes.ts';
import { parseCanonicalLine } from './canonical-line.ts';
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
  /** 16 lower-case hex digits, see `typeTag`. */
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

// types.jsonl: one declared type per line, in canonical JSON.           docs/format/turns.md
// {"tag":"<16 hex>","type":"<name>","version":n}
// The tag is made from name and version, so it is also the checksum of the line.
const TAG_BYTES = 8;

export interface DeclaredType {
  readonly type: string;
  readonly version: number;
}

export interface TypeLine extends DeclaredType {
  readonly tag: string;
}

/** The tag that turn records carry for a type: 16 lower-case hex digits. */
export function typeTag(name: string, version: number): string {
  const hash = hashRaw(encodeUtf8(`quipu.type\0${version}\0${name}`));
  return hexOf(hash.subarray(0, TAG_BYTES));
}

/** The line with its line break. */
export function encodeTypeLine({ type, version }: DeclaredType): Uint8Array {
  return encodeUtf8(`${canonicalJson({ tag: typeTag(type, version), type, version })}\n`);
}

/** `line` has its line break. Undefined when it is cut short or damaged. */
export function decodeTypeLine(line: Uint8Array): TypeLine | undefined {
  const fields = parseCanonicalLine(line);
  if (fields === undefined || Object.keys(fields).length !== 3) return undefined;
  const { tag, type, version } = fields;
  if (typeof tag !== 'string' || typeof type !== 'string') return undefined;
  if (typeof version !== 'number' || !Number.isSafeInteger(version)) return undefined;
  return tag === typeTag(type, version) ? { tag, type, version } : undefined;
}

// turns/open/<turn id>: a turn record (128 bytes), then deltas.         docs/format/turns.md
// 0         8         12      16        16+n
// | offset  | length  | crc32 | data …  |   little-endian
// | u64     | u32 = n | u32   | n bytes |   crc32 covers 0..12 and the data
export const DELTA_HEADER_BYTES = 16;

export interface Delta {
  /** The place of the data in the payload. */
  readonly offset: number;
  readonly data: Uint8Array;
}

export function encodeDelta(delta: Delta): Uint8Array {
  const { data } = delta;
  const buffer = Buffer.allocUnsafe(DELTA_HEADER_BYTES + data.length);
  writeU64(buffer, delta.offset, 0);
  buffer.writeUInt32LE(data.length, 8);
  buffer.writeUInt32LE(crc32(data, crc32(buffer.subarray(0, 12))), 12);
  buffer.set(data, DELTA_HEADER_BYTES);
  return buffer;
}

/**
 * The delta that begins at `start`; the next one begins after its header and data. `data` shares
 * memory with `bytes`. Undefined when it is cut short or damaged.
 */
export function decodeDelta(bytes: Uint8Array, start = 0): Delta | undefined {
  if (bytes.length < start + DELTA_HEADER_BYTES) return undefined;
  const buffer = toBuffer(bytes).subarray(start);
  const end = DELTA_HEADER_BYTES + buffer.readUInt32LE(8);
  if (buffer.length < end) return undefined;
  const data = buffer.subarray(DELTA_HEADER_BYTES, end);
  if (buffer.readUInt32LE(12) !== crc32(data, crc32(buffer.subarray(0, 12)))) return undefined;
  const offset = readU64(buffer, 0);
  return offset === undefined ? undefined : { offset, data };
}

// turns/collected.map: turns whose payloads a collection took.           docs/format/turns.md
// 0        4          6      8              16        16+n    20+n
// | magic  | version  | zero | next turn    | bits    | crc32 |   n = ceil(next turn / 8)
// | QCOL   | u16      | u16  | u64          | n bytes | u32   |   bit t of byte floor(t / 8): turn t
const MAP_MAGIC = 'QCOL';
const MAP_VERSION = 1;
const MAP_HEADER_BYTES = 16;

/** A set of turn ids below `next`, one bit each. */
export interface CollectedMap {
  /** The first turn that the collection did not look at. */
  readonly next: number;
  readonly bits: Uint8Array;
}

export const NOTHING_COLLECTED: CollectedMap = { next: 0, bits: new Uint8Array() };

export function isCollected({ next, bits }: CollectedMap, turn: number): boolean {
  return turn < next && ((bits[Math.floor(turn / 8)] ?? 0) & (1 << (turn % 8))) !== 0;
}

/** The same map for turns below `next`, to be added to. */
export function extendCollected({ bits }: CollectedMap, next: number): CollectedMap {
  const more = new Uint8Array(Math.ceil(next / 8));
  more.set(bits);
  return { next, bits: more };
}

export function addCollected({ bits }: CollectedMap, turn: number): void {
  bits[turn >>> 3] = (bits[turn >>> 3] ?? 0) | (1 << (turn & 7));
}

export function encodeCollectedMap({ next, bits }: CollectedMap): Uint8Array {
  const buffer = Buffer.alloc(MAP_HEADER_BYTES + bits.length + CRC_BYTES);
  buffer.write(MAP_MAGIC, 0, 'latin1');
  buffer.writeUInt16LE(MAP_VERSION, 4);
  writeU64(buffer, next, 8);
  buffer.set(bits, MAP_HEADER_BYTES);
  seal(buffer);
  return buffer;
}

/** Undefined when `bytes` are not one intact map. */
export function decodeCollectedMap(bytes: Uint8Array): CollectedMap | undefined {
  const buffer = toBuffer(bytes);
  if (buffer.length < MAP_HEADER_BYTES + CRC_BYTES || !isSealed(buffer)) return undefined;
  if (buffer.toString('latin1', 0, 4) !== MAP_MAGIC || buffer.readUInt16LE(4) !== MAP_VERSION)
    return undefined;
  const next = readU64(buffer, 8);
  if (buffer.readUInt16LE(6) !== 0 || next === undefined) return undefined;
  const bits = buffer.subarray(MAP_HEADER_BYTES, buffer.length - CRC_BYTES);
  return bits.length === Math.ceil(next / 8) ? { next, bits: new Uint8Array(bits) } : undefined;
}
