import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { encodeUtf8 } from '../../base/text.ts';
import type { Batch, Committed, TurnAppend } from '../../engine/batch.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { Compression } from '../../wire/append-turn.ts';
import type { AppendTurn, RowAck } from '../../wire/append-turn.ts';
import { NAME_BYTES_MAX } from '../../wire/limits.ts';
import { isAppend } from '../plan-commit.ts';

// Almost every commit appends one turn with its payload. As APPEND_TURN such a commit needs no JSON on either side.
// JSON would take longer than all the other steps.

/** The batch as APPEND_TURN, if that message can express all of it. */
export function toAppend(batch: Batch): AppendTurn | undefined {
  const { blobs, turns, idempotency } = batch;
  if (turns?.length !== 1 || blobs?.length !== 1 || !isAppend(batch)) return undefined;
  const [turn] = turns;
  const [blob] = blobs;
  if (turn === undefined || blob === undefined || !isPlain(turn)) return undefined;
  if (blob.sha256 !== undefined || blob.hash !== turn.payload) return undefined;
  if (blob.bytes.length !== turn.size) return undefined;
  if (idempotency === undefined) return toMessage(turn, blob.bytes);
  const { context, key } = idempotency;
  if (context !== turn.context || !fits(key)) return undefined;
  return toMessage(turn, blob.bytes, encodeUtf8(key));
}

/** True for a turn on the head or on an existing turn, of an existing context. */
function isPlain({ context, parent, expectedHead, fsRoot, type }: TurnAppend): boolean {
  if (typeof context !== 'bigint' || parent === NO_TURN) return false;
  return expectedHead === undefined && fsRoot === undefined && fits(type);
}

function toMessage(turn: TurnAppend, payload: Uint8Array, key?: Uint8Array): AppendTurn {
  const { type, version, encoding, size: rawLength, payload: hash } = turn;
  return {
    context: turn.context as ContextId,
    parent: turn.parent ?? NO_TURN,
    turn: { type, version, encoding, compression: Compression.none, rawLength, hash, payload },
    key,
    fsRoot: undefined,
    expectHead: false,
    open: false,
    wantRow: true,
  };
}

/** The answer of the server, as `commit` gives it. */
export function toCommitted(ack: RowAck): Committed {
  // Copies field by field, here and below: spreading took 15 µs.
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

/** Measures by characters, each of which has at most three bytes. */
function fits(text: string): boolean {
  return text !== '' && text.length * 3 <= NAME_BYTES_MAX;
}
