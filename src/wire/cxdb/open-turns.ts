import type { Hash } from '../../base/brand.ts';
import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';

// APPEND_DELTA: u64 context, u64 turn, u64 offset, u32 len, bytes.      Reply: u64 turn, u64 total_len.

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

// SEAL: u64 context, u64 turn, u32 outcome, u64 total_len, hash or zeros, u32 reason_len, reason.
// The reply is an ACK.

export interface Seal {
  readonly context: bigint;
  readonly turn: bigint;
  /** Only the server may say `interrupted`. */
  readonly outcome: Exclude<Outcome, 'interrupted'>;
  readonly totalLength: number;
  /** Undefined: the client does not know the hash, so nothing is compared. */
  readonly hash: Hash | undefined;
  readonly reason: string;
}

export function decodeSeal(payload: Uint8Array): Seal {
  const reader = new ByteReader(payload, 'SEAL');
  const context = reader.u64('context_id');
  const turn = reader.u64('turn_id');
  const outcome = readOutcome(reader);
  if (outcome === 'interrupted') throw reader.wrong('outcome', 'is 0 (complete) or 1 (aborted)');
  const totalLength = reader.count64('total_len');
  const hash = reader.hashOrNone('content_hash');
  const reason = reader.text(reader.u32('reason_len'), 'reason');
  return { context, turn, outcome, totalLength, hash, reason };
}

/** The way in which an open turn came to its end. */
export type Outcome = 'complete' | 'aborted' | 'interrupted';

const OUTCOMES: readonly Outcome[] = ['complete', 'aborted', 'interrupted'];

export function outcomeNumber(outcome: Outcome): number {
  return OUTCOMES.indexOf(outcome);
}

export function readOutcome(reader: ByteReader): Outcome {
  const number = reader.u32('outcome');
  const outcome = OUTCOMES[number];
  if (outcome === undefined) throw reader.wrong('outcome', `is 0, 1 or 2, got ${number}`);
  return outcome;
}
