import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';

// u64 context, u64 turn, u64 offset, u32 len, bytes.      Reply: u64 turn, u64 total_len.

export interface AppendDelta {
  readonly context: bigint;
  readonly turn: bigint;
  /** The number of bytes that the turn holds before these. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface DeltaAck {
  readonly turn: bigint;
  readonly totalLength: number;
}

export function encodeAppendDelta(delta: AppendDelta): Parts {
  return new ByteWriter()
    .u64(delta.context)
    .u64(delta.turn)
    .count64(delta.offset)
    .sized32(delta.bytes)
    .parts();
}

export function decodeAppendDelta(payload: Uint8Array): AppendDelta {
  const reader = new ByteReader(payload, 'APPEND_DELTA');
  return {
    context: reader.u64('context_id'),
    turn: reader.u64('turn_id'),
    offset: reader.count64('offset'),
    bytes: reader.bytes(reader.u32('len'), 'bytes'),
  };
}

export function encodeDeltaAck(ack: DeltaAck): Parts {
  return new ByteWriter(16).u64(ack.turn).count64(ack.totalLength).parts();
}

export function decodeDeltaAck(payload: Uint8Array): DeltaAck {
  const reader = new ByteReader(payload, 'APPEND_DELTA reply');
  return { turn: reader.u64('turn_id'), totalLength: reader.count64('total_len') };
}
