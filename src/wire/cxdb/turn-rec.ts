import type { Hash } from '../../base/brand.ts';
import type { ByteReader } from '../byte-reader.ts';
import type { ByteWriter } from '../byte-writer.ts';
import { FRAME_PAYLOAD_MAX } from '../limits.ts';
import { Compression } from '../turn-input.ts';

// TURN_REC
// 0        8        16      20         24     24+T      28+T       32+T          36+T      40+T   72+T          76+T
// | turn   | parent | depth | type len | type | version | encoding | compression | raw len | hash | payload len | payload |
// | u64    | u64    | u32   | u32 = T  | T    | u32     | u32      | u32 = 0     | u32     | 32   | u32 = P     | P       |
//
// EXT row: u64 created_at_unix_ms, u32 flags, u32 zero, u64 patch_seq.
export const TURN_REC_BYTES_MIN = 76;
export const EXT_ROW_BYTES = 24;

export interface TurnRec {
  readonly id: bigint;
  /** 0 for a root. */
  readonly parent: bigint;
  readonly depth: number;
  readonly type: string;
  readonly version: number;
  readonly encoding: number;
  /** Length of the payload, also when the payload itself is left out. */
  readonly size: number;
  /** Undefined (zeros) for an open turn and for a tombstone. */
  readonly hash: Hash | undefined;
  /** Empty when the client did not ask for it. */
  readonly payload: Uint8Array;
}

/** Bits of a turn that only answers have, in addition to the lower ones of `format/turn-flags.ts`. */
export const WireTurnFlag = {
  /** The turn has a file-system root of its own. */
  FS_ROOT: 32,
  /** The payload was asked for and cannot be read. */
  UNREADABLE: 64,
} as const;

export interface ExtRow {
  readonly createdAt: number;
  /** Bits of `TurnFlag` below 32, and of `WireTurnFlag`. */
  readonly flags: number;
  /** The number of the newest patch that was applied, or 0. */
  readonly patchSeq: bigint;
}

export function writeTurnRec(writer: ByteWriter, rec: TurnRec): void {
  writer
    .u64(rec.id)
    .u64(rec.parent)
    .u32(rec.depth)
    .sized32(rec.type)
    .u32(rec.version)
    .u32(rec.encoding)
    .u32(Compression.none)
    .u32(rec.size)
    .hash(rec.hash)
    .sized32(rec.payload);
}

export function readTurnRec(reader: ByteReader): TurnRec {
  const id = reader.u64('turn_id');
  const parent = reader.u64('parent_turn_id');
  const depth = reader.u32('depth');
  const type = reader.text(reader.length32('type_id', FRAME_PAYLOAD_MAX), 'type_id');
  const version = reader.u32('type_version');
  const encoding = reader.u32('encoding');
  if (reader.u32('compression') !== Compression.none) {
    throw reader.wrong('compression', 'is 0 in records');
  }
  const size = reader.u32('uncompressed_len');
  const hash = reader.hashOrNone('payload_hash');
  const payload = reader.bytes(reader.u32('payload_len'), 'payload');
  return { id, parent, depth, type, version, encoding, size, hash, payload };
}

export function writeExtRow(writer: ByteWriter, row: ExtRow): void {
  writer.count64(row.createdAt).u32(row.flags).u32(0).u64(row.patchSeq);
}

export function readExtRow(reader: ByteReader): ExtRow {
  const createdAt = reader.count64('created_at');
  const flags = reader.u32('turn_flags');
  reader.u32('zero');
  return { createdAt, flags, patchSeq: reader.u64('patch_seq') };
}
