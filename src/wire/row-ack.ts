import type { Hash } from '../base/brand.ts';
import { writeU64 } from '../format/bytes.ts';
import { ByteReader } from './byte-reader.ts';
import type { Parts } from './byte-writer.ts';
import { NAME_BYTES_MAX } from './limits.ts';

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
