import type { Hash } from '../../base/brand.ts';
import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';
import { readKey } from '../append-turn.ts';
import { RAW_BYTES_MAX } from '../limits.ts';

// u64 turn, u32 flags, u64 expect_seq, hash, u32 payload_len, payload, u32 key_len, key.
// Reply: u64 turn, u64 seq, hash that the turn has now.

/** Bits of a PATCH, and of the push that reports it. */
export const PatchFlag = {
  /** Hides the payload. The hash is zeros, and the payload of the patch is the reason. */
  TOMBSTONE: 1,
  /** The newest patch of the turn must be the given one. */
  CHECK_SEQ: 2,
} as const;

const KNOWN_FLAGS = PatchFlag.TOMBSTONE | PatchFlag.CHECK_SEQ;

export interface PatchRequest {
  readonly turn: bigint;
  /** The newest patch of the turn must have this number (0: none); undefined: any number is fine. */
  readonly expectSeq: bigint | undefined;
  /** The hash of the new payload; undefined for a tombstone. */
  readonly hash: Hash | undefined;
  /** The new payload, or empty when it is stored already. For a tombstone: the reason, in UTF-8. */
  readonly payload: Uint8Array;
  readonly key: Uint8Array | undefined;
}

export interface PatchReply {
  readonly turn: bigint;
  readonly seq: bigint;
  /** The hash of the payload that the turn shows now; undefined for a tombstone. */
  readonly hash: Hash | undefined;
}

export function decodePatch(payload: Uint8Array): PatchRequest {
  const reader = new ByteReader(payload, 'PATCH');
  const turn = reader.u64('target_turn_id');
  const flags = reader.u32('patch_flags');
  if ((flags & ~KNOWN_FLAGS) !== 0) {
    throw reader.wrong('patch_flags', `has unknown bits: ${flags}`);
  }
  const expected = reader.u64('expect_patch_seq');
  const hash = reader.hashOrNone('new_payload_hash');
  const content = reader.bytes(reader.size32('payload', RAW_BYTES_MAX), 'payload');
  const isTombstone = (flags & PatchFlag.TOMBSTONE) !== 0;
  if (isTombstone !== (hash === undefined)) {
    throw reader.wrong('new_payload_hash', 'is zeros for a tombstone, and only then');
  }
  if (isTombstone) new ByteReader(content, 'PATCH').text(content.length, 'payload');
  const expectSeq = (flags & PatchFlag.CHECK_SEQ) === 0 ? undefined : expected;
  return { turn, expectSeq, hash, payload: content, key: readKey(reader) };
}

export function encodePatchReply(reply: PatchReply): Parts {
  return new ByteWriter(48).u64(reply.turn).u64(reply.seq).hash(reply.hash).parts();
}
