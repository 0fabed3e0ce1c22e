import type { Hash } from '../base/brand.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import type { Parts } from './byte-writer.ts';
import { readKey, writeKey } from './idempotency-key.ts';
import { AppendFlag } from './request-flags.ts';
import { readTurnInput, writeTurnInput } from './turn-input.ts';
import type { TurnInput } from './turn-input.ts';

// u64 context, u64 parent, turn (turn-input.ts), u32 key_len, key, [hash of the fs root].

export interface AppendTurn {
  readonly context: bigint;
  /** 0: the head. */
  readonly parent: bigint;
  readonly turn: TurnInput;
  /** Bytes of the client's choice; undefined when the client gave none. */
  readonly key: Uint8Array | undefined;
  readonly fsRoot: Hash | undefined;
  /** `parent` must be the head; with 0 the context must be empty. */
  readonly expectHead: boolean;
  /** The turn starts open, with the payload as its first piece. */
  readonly open: boolean;
  /** The reply is a ROW_ACK. */
  readonly wantRow: boolean;
}

export function appendTurnFlags(append: AppendTurn): number {
  return (
    (append.fsRoot === undefined ? 0 : AppendFlag.HAS_FS_ROOT) |
    (append.expectHead ? AppendFlag.EXPECT_HEAD : 0) |
    (append.open ? AppendFlag.OPEN : 0) |
    (append.wantRow ? AppendFlag.WANT_ROW : 0)
  );
}

export function encodeAppendTurn(append: AppendTurn): Parts {
  const writer = new ByteWriter().u64(append.context).u64(append.parent);
  writeTurnInput(writer, append.turn);
  writeKey(writer, append.key);
  if (append.fsRoot !== undefined) writer.hash(append.fsRoot);
  return writer.parts();
}

/** `flags` holds only the flags that count, see `countingFlags`. */
export function decodeAppendTurn(payload: Uint8Array, flags: number): AppendTurn {
  const reader = new ByteReader(payload, 'APPEND_TURN');
  return {
    context: reader.u64('context_id'),
    parent: reader.u64('parent_turn_id'),
    turn: readTurnInput(reader),
    key: readKey(reader),
    fsRoot: (flags & AppendFlag.HAS_FS_ROOT) === 0 ? undefined : reader.hash('fs_root_hash'),
    expectHead: (flags & AppendFlag.EXPECT_HEAD) !== 0,
    open: (flags & AppendFlag.OPEN) !== 0,
    wantRow: (flags & AppendFlag.WANT_ROW) !== 0,
  };
}
