import type { Hash } from '../../base/brand.ts';
import { TURN_INPUT_BYTES_MIN, readKey, readTurnInput } from '../append-turn.ts';
import type { TurnInput } from '../append-turn.ts';
import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';
import { BATCH_ITEMS_MAX } from '../limits.ts';
import { AppendFlag } from '../message-type.ts';

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
