import type { Hash } from '../../base/brand.ts';
import { HASH_BYTES } from '../../base/hash.ts';
import { ByteReader, ByteWriter } from '../byte-codec.ts';
import type { Parts } from '../byte-codec.ts';
import { RAW_BYTES_MAX, BATCH_ITEMS_MAX } from '../limits.ts';
import { readKey, TURN_INPUT_BYTES_MIN, readTurnInput } from '../append-turn.ts';
import type { TurnInput } from '../append-turn.ts';
import { AppendFlag } from '../message-type.ts';

// GET_BLOB:  hash, and nothing behind it.      Reply: u32 len, bytes.
// PUT_BLOB:  hash, u32 len, bytes.             Reply: hash, u8 was_new.
// ATTACH_FS: u64 turn, hash of the fs root.    Reply: the same.

export interface PutBlob {
  /** The hash as the client claims it: nobody has checked it yet. */
  readonly hash: Hash;
  readonly bytes: Uint8Array;
}

export interface PutBlobReply {
  readonly hash: Hash;
  readonly wasNew: boolean;
}

export interface AttachFs {
  readonly turn: bigint;
  readonly fsRoot: Hash;
}

export function decodeGetBlob(payload: Uint8Array): Hash {
  const reader = new ByteReader(payload, 'GET_BLOB');
  const hash = reader.hash('hash');
  if (reader.remaining > 0) throw reader.wrong('hash', 'is followed by more bytes');
  return hash;
}

export function encodeGetBlobReply(bytes: Uint8Array): Parts {
  return new ByteWriter().sized32(bytes).parts();
}

export function decodePutBlob(payload: Uint8Array): PutBlob {
  const reader = new ByteReader(payload, 'PUT_BLOB');
  const hash = reader.hash('hash');
  return { hash, bytes: reader.bytes(reader.size32('bytes', RAW_BYTES_MAX), 'bytes') };
}

export function encodePutBlobReply(reply: PutBlobReply): Parts {
  return new ByteWriter(HASH_BYTES + 1)
    .hash(reply.hash)
    .u8(reply.wasNew ? 1 : 0)
    .parts();
}

export function encodeAttachFs(attach: AttachFs): Parts {
  return new ByteWriter(8 + HASH_BYTES).u64(attach.turn).hash(attach.fsRoot).parts();
}

export function decodeAttachFs(payload: Uint8Array): AttachFs {
  const reader = new ByteReader(payload, 'ATTACH_FS');
  return { turn: reader.u64('turn_id'), fsRoot: reader.hash('fs_root_hash') };
}

// CTX_CREATE, CTX_FORK: u64 base.  GET_HEAD: u64 context.
// HEAD, the reply to all three and to SUBSCRIBE: u64 context, u64 head, u32 depth.
const HEAD_BYTES = 20;

export interface Head {
  readonly context: bigint;
  /** 0 while the context is empty. */
  readonly head: bigint;
  /** 0 for a root turn and for an empty context. */
  readonly depth: number;
}

export function decodeCtxCreate(payload: Uint8Array): bigint {
  return new ByteReader(payload, 'CTX_CREATE').u64('base_turn_id');
}

export function decodeGetHead(payload: Uint8Array): bigint {
  return new ByteReader(payload, 'GET_HEAD').u64('context_id');
}

export function encodeHead(head: Head): Parts {
  return new ByteWriter(HEAD_BYTES).u64(head.context).u64(head.head).u32(head.depth).parts();
}

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

// Request: u64 context, u64 parent, u32 count, items, u32 key_len, key.
// Item:    u32 flags (1: an fs root follows), turn (append-turn.ts), [hash of the fs root].
// Reply:   u64 context, u32 count, count × { u64 turn, u32 depth, hash }.
const ITEM_BYTES_MIN = 4 + TURN_INPUT_BYTES_MIN;
const ITEM_HAS_FS_ROOT = 1;
const ACK_BYTES = 44;

export interface BatchItem {
  readonly turn: TurnInput;
  readonly fsRoot: Hash | undefined;
}

export interface AppendBatch {
  readonly context: bigint;
  /** The parent of the first item; 0: the head. The parent of each later item is the item before it. */
  readonly parent: bigint;
  readonly items: readonly BatchItem[];
  readonly key: Uint8Array | undefined;
  readonly expectHead: boolean;
}

export interface BatchAck {
  readonly context: bigint;
  readonly turns: readonly { readonly id: bigint; readonly depth: number; readonly hash: Hash }[];
}

export function decodeAppendBatch(payload: Uint8Array, flags: number): AppendBatch {
  const reader = new ByteReader(payload, 'APPEND_BATCH');
  const context = reader.u64('context_id');
  const parent = reader.u64('parent_turn_id');
  const count = reader.items32('item', ITEM_BYTES_MIN);
  if (count < 1 || count > BATCH_ITEMS_MAX) {
    throw reader.wrong('item_count', `is 1 to ${BATCH_ITEMS_MAX}, got ${count}`);
  }
  const items: BatchItem[] = [];
  for (let index = 0; index < count; index += 1) items.push(readItem(reader, index));
  const key = readKey(reader);
  return { context, parent, items, key, expectHead: (flags & AppendFlag.EXPECT_HEAD) !== 0 };
}

function readItem(reader: ByteReader, index: number): BatchItem {
  const flags = reader.u32('item_flags');
  if ((flags & ~ITEM_HAS_FS_ROOT) !== 0) {
    throw reader.wrong('item_flags', `of item ${index} has unknown bits: ${flags}`);
  }
  const turn = readTurnInput(reader);
  return { turn, fsRoot: flags === 0 ? undefined : reader.hash('fs_root_hash') };
}

export function encodeBatchAck(ack: BatchAck): Parts {
  const writer = new ByteWriter(12 + ACK_BYTES * ack.turns.length);
  writer.u64(ack.context).u32(ack.turns.length);
  for (const { id, depth, hash } of ack.turns) writer.u64(id).u32(depth).hash(hash);
  return writer.parts();
}

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
