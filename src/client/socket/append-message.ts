import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Batch, Committed } from '../../engine/batch.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import type { AppendTurn } from '../../wire/append-turn.ts';
import { NAME_BYTES_MAX } from '../../wire/limits.ts';
import type { RowAck } from '../../wire/row-ack.ts';
import { Compression } from '../../wire/turn-input.ts';
import { isAppend } from '../plan-commit.ts';

// Almost every commit appends one turn with its payload. As APPEND_TURN it needs no JSON on either side,
// which would take longer than all the rest of the way.

/** A batch that says no more than APPEND_TURN can, as that message. */
export function toAppend(batch: Batch): AppendTurn | undefined {
  const { blobs = [], turns = [], idempotency } = batch;
  const [blob] = blobs;
  const [turn] = turns;
  if (turn === undefined || blob === undefined || turns.length > 1 || blobs.length > 1) return;
  if (!isAppend(batch)) return;
  const { context, parent = NO_TURN, expectedHead, fsRoot, type, payload, size } = turn;
  if (typeof context !== 'bigint' || turn.parent === NO_TURN) return;
  if (expectedHead !== undefined || fsRoot !== undefined || blob.sha256 !== undefined) return;
  if (blob.hash !== payload || blob.bytes.length !== size || !fits(type)) return;
  if (idempotency !== undefined && (idempotency.context !== context || !fits(idempotency.key))) {
    return;
  }
  return {
    context,
    parent,
    turn: {
      type,
      version: turn.version,
      encoding: turn.encoding,
      compression: Compression.none,
      rawLength: size,
      hash: payload,
      payload: blob.bytes,
    },
    key: idempotency === undefined ? undefined : encodeUtf8(idempotency.key),
    fsRoot: undefined,
    expectHead: false,
    open: false,
    wantRow: true,
  };
}

/** The answer of the server, as `commit` gives it. */
export function toCommitted(ack: RowAck): Committed {
  // Field by field, here and below: spreading took 15 µs.
  const row: TurnRow = {
    id: ack.turn as TurnId,
    parent: ack.parent as TurnId,
    context: ack.context as ContextId,
    depth: ack.depth,
    type: ack.type,
    version: ack.version,
    encoding: ack.encoding,
    payload: ack.hash,
    size: ack.size,
    flags: ack.turnFlags,
    createdAt: ack.createdAt,
  };
  return {
    seq: ack.seq,
    replayed: ack.replayed,
    contexts: [],
    turns: [row],
    opened: [],
    sealed: [],
    patches: [],
    fsRoots: [],
    logs: [],
    docs: [],
  };
}

/** By characters, each of which has at most three bytes. */
function fits(text: string): boolean {
  return text !== '' && text.length * 3 <= NAME_BYTES_MAX;
}
