import type { Hash } from '../base/brand.ts';
import { writeU64 } from '../format/bytes.ts';
import { ByteReader, ByteWriter } from './byte-codec.ts';
import type { Parts } from './byte-codec.ts';
import { NAME_BYTES_MAX, RAW_BYTES_MAX } from './limits.ts';
import { AppendFlag } from './message-type.ts';

// APPEND_TURN: u64 context, u64 parent, turn (below), u32 key_len, key, [hash of the fs root].

export interface AppendTurn {
  readonly context: bigint;
  /** 0: the head. */
  readonly parent: bigint;
  readonly turn: TurnInput;
  /** Bytes of the client's choice; undefined when the client gave none. */
  readonly key: Uint8Array | undefined;
  readonly fsRoot: Hash | undefined;
  /** `parent` must be the head; with 0 the context must be empty. */
  readonly expectHead: boolean;
  /** The turn starts open, with the payload as its first piece. */
  readonly open: boolean;
  /** The reply is a ROW_ACK. */
  readonly wantRow: boolean;
}

export function appendTurnFlags(append: AppendTurn): number {
  return (
    (append.fsRoot === undefined ? 0 : AppendFlag.HAS_FS_ROOT) |
    (append.expectHead ? AppendFlag.EXPECT_HEAD : 0) |
    (append.open ? AppendFlag.OPEN : 0) |
    (append.wantRow ? AppendFlag.WANT_ROW : 0)
  );
}

export function encodeAppendTurn(append: AppendTurn): Parts {
  const writer = new ByteWriter().u64(append.context).u64(append.parent);
  writeTurnInput(writer, append.turn);
  writeKey(writer, append.key);
  if (append.fsRoot !== undefined) writer.hash(append.fsRoot);
  return writer.parts();
}

/** `flags` holds only the flags that count, see `countingFlags`. */
export function decodeAppendTurn(payload: Uint8Array, flags: number): AppendTurn {
  const reader = new ByteReader(payload, 'APPEND_TURN');
  return {
    context: reader.u64('context_id'),
    parent: reader.u64('parent_turn_id'),
    turn: readTurnInput(reader),
    key: readKey(reader),
    fsRoot: (flags & AppendFlag.HAS_FS_ROOT) === 0 ? undefined : reader.hash('fs_root_hash'),
    expectHead: (flags & AppendFlag.EXPECT_HEAD) !== 0,
    open: (flags & AppendFlag.OPEN) !== 0,
    wantRow: (flags & AppendFlag.WANT_ROW) !== 0,
  };
}

// The fields of a turn in APPEND_TURN and in each item of APPEND_BATCH:
// u32 type_len, type, u32 version, u32 encoding, u32 compression, u32 raw_len, hash, u32 payload_len, payload.
export const Compression = { none: 0, zstd: 1 } as const;

export const TURN_INPUT_BYTES_MIN = 56;

export interface TurnInput {
  readonly type: string;
  readonly version: number;
  /** See `Encoding` in `format/turn-record.ts`; unknown numbers are kept as given. */
  readonly encoding: number;
  readonly compression: number;
  /** Length of the payload when it is not compressed. The client claims it: nobody has checked it yet. */
  readonly rawLength: number;
  /** The hash of the bytes when they are not compressed. The client claims it. */
  readonly hash: Hash;
  /** The payload as sent. */
  readonly payload: Uint8Array;
}

export function writeTurnInput(writer: ByteWriter, turn: TurnInput): void {
  writer
    .sized32(turn.type)
    .u32(turn.version)
    .u32(turn.encoding)
    .u32(turn.compression)
    .u32(turn.rawLength)
    .hash(turn.hash)
    .sized32(turn.payload);
}

export function readTurnInput(reader: ByteReader): TurnInput {
  const type = reader.text(reader.length32('type_id', NAME_BYTES_MAX), 'type_id');
  const version = reader.u32('type_version');
  const encoding = reader.u32('encoding');
  const compression = reader.u32('compression');
  if (compression !== Compression.none && compression !== Compression.zstd) {
    throw reader.wrong('compression', `is 0 (none) or 1 (zstd), got ${compression}`);
  }
  const rawLength = reader.u32('uncompressed_len');
  const hash = reader.hash('content_hash');
  const payload = reader.bytes(reader.size32('payload', RAW_BYTES_MAX), 'payload');
  reader.checkSize('uncompressed_len', rawLength, RAW_BYTES_MAX);
  return { type, version, encoding, compression, rawLength, hash, payload };
}

// u32 key_len, key. No bytes mean no key.

export function writeKey(writer: ByteWriter, key: Uint8Array | undefined): void {
  if (key === undefined) writer.u32(0);
  else writer.sized32(key);
}

export function readKey(reader: ByteReader): Uint8Array | undefined {
  const length = reader.length32('idempotency', NAME_BYTES_MAX);
  return length === 0 ? undefined : reader.bytes(length, 'idempotency_key');
}

// ACK, the reply to APPEND_TURN and SEAL: u64 context, u64 turn, u32 depth, hash.
const ACK_BYTES = 52;

/** Sent only when the turn is durable. */
export interface Ack {
  readonly context: bigint;
  readonly turn: bigint;
  readonly depth: number;
  /** Undefined (zeros) for a turn that is open. */
  readonly hash: Hash | undefined;
}

export function encodeAck(ack: Ack): Parts {
  return new ByteWriter(ACK_BYTES)
    .u64(ack.context)
    .u64(ack.turn)
    .u32(ack.depth)
    .hash(ack.hash)
    .parts();
}

// ROW_ACK, the reply to APPEND_TURN with WANT_ROW: ACK (u64 context, u64 turn, u32 depth, hash), then
// u64 seq, u8 replayed, u64 parent, u64 created_at, u32 turn_flags, u32 version, u32 encoding, u32 size,
// u32 type_len, type.
const ROW_ACK_BYTES = 97;

/** Sent only when the turn is durable. */
export interface RowAck {
  readonly context: bigint;
  readonly turn: bigint;
  readonly depth: number;
  readonly hash: Hash;
  /** The sequence number of the commit. */
  readonly seq: number;
  /** The key was known: this is the turn of the first attempt. */
  readonly replayed: boolean;
  /** 0 for a root. */
  readonly parent: bigint;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly turnFlags: number;
  readonly version: number;
  readonly encoding: number;
  readonly size: number;
  readonly type: string;
}

/** Works in one pass over one array: every append of our own client gets a ROW_ACK. */
export function encodeRowAck(ack: RowAck): Parts {
  const typeBytes = Buffer.byteLength(ack.type);
  const bytes = Buffer.allocUnsafe(ROW_ACK_BYTES + typeBytes);
  bytes.writeBigUInt64LE(ack.context, 0);
  bytes.writeBigUInt64LE(ack.turn, 8);
  bytes.writeUInt32LE(ack.depth, 16);
  bytes.write(ack.hash, 20, 'hex');
  writeU64(bytes, ack.seq, 52);
  bytes[60] = ack.replayed ? 1 : 0;
  bytes.writeBigUInt64LE(ack.parent, 61);
  writeU64(bytes, ack.createdAt, 69);
  bytes.writeUInt32LE(ack.turnFlags, 77);
  bytes.writeUInt32LE(ack.version, 81);
  bytes.writeUInt32LE(ack.encoding, 85);
  bytes.writeUInt32LE(ack.size, 89);
  bytes.writeUInt32LE(typeBytes, 93);
  bytes.write(ack.type, ROW_ACK_BYTES);
  return [bytes];
}

export function decodeRowAck(payload: Uint8Array): RowAck {
  const reader = new ByteReader(payload, 'ROW_ACK');
  return {
    context: reader.u64('context_id'),
    turn: reader.u64('turn_id'),
    depth: reader.u32('depth'),
    hash: reader.hash('payload_hash'),
    seq: reader.count64('seq'),
    replayed: reader.u8('replayed') !== 0,
    parent: reader.u64('parent_turn_id'),
    createdAt: reader.count64('created_at'),
    turnFlags: reader.u32('turn_flags'),
    version: reader.u32('type_version'),
    encoding: reader.u32('encoding'),
    size: reader.u32('size'),
    type: reader.text(reader.length32('type_id', NAME_BYTES_MAX), 'type_id'),
  };
}
