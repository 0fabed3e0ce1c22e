import type { Hash } from '../base/brand.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import type { Parts } from './byte-writer.ts';

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

export function decodeAck(payload: Uint8Array): Ack {
  const reader = new ByteReader(payload, 'ACK');
  return {
    context: reader.u64('context_id'),
    turn: reader.u64('turn_id'),
    depth: reader.u32('depth'),
    hash: reader.hashOrNone('payload_hash'),
  };
}
