import type { Hash } from '../base/brand.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { NAME_BYTES_MAX, RAW_BYTES_MAX } from './limits.ts';

// The fields of a turn in APPEND_TURN and in each item of APPEND_BATCH:
// u32 type_len, type, u32 version, u32 encoding, u32 compression, u32 raw_len, hash, u32 payload_len, payload.
export const Compression = { none: 0, zstd: 1 } as const;

export interface TurnInput {
  readonly type: string;
  readonly version: number;
  /** See `format/encoding.ts`; unknown numbers are kept as given. */
  readonly encoding: number;
  readonly compression: number;
  /** Length of the payload when it is not compressed. The client claims it: nobody has checked it yet. */
  readonly rawLength: number;
  /** The hash of the bytes when they are not compressed. The client claims it. */
  readonly hash: Hash;
  /** The payload as sent. */
  readonly payload: Uint8Array;
}

export const TURN_INPUT_BYTES_MIN = 56;

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
