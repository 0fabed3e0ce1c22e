import type { Hash } from '../../base/brand.ts';
import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';
import { outcomeNumber, readOutcome } from './outcome.ts';
import type { Outcome } from './outcome.ts';

// u64 context, u64 turn, u32 outcome, u64 total_len, hash or zeros, u32 reason_len, reason.
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

export function encodeSeal(seal: Seal): Parts {
  return new ByteWriter()
    .u64(seal.context)
    .u64(seal.turn)
    .u32(outcomeNumber(seal.outcome))
    .count64(seal.totalLength)
    .hash(seal.hash)
    .sized32(seal.reason)
    .parts();
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
