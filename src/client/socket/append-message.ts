import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Batch, Committed } from '../../engine/batch.ts';
import { encodeUtf8 } from '../../base/utf8.ts';
import type { AppendTurn } from '../../wire/append-turn.ts';
import { NAME_BYTES_MAX } from '../../wire/limits.ts';
import type { RowAck } from '../../wire/row-ack.ts';
import { Compression } from '../../wire/turn-input.ts';

// Almost every commit appends one turn with its payload. As APPEND_TURN it needs no JSON on either side,
// which would take longer than all the rest of the way.

/** A batch that says no more than APPEND_TURN can, as that message. */
export function toAppend(batch: Batch): AppendTurn | undefined {
  const { blobs = [], turns = [], idempotency, ...others } = batch;
  const [blob] = blobs;
  const [turn] = turns;
  if (turn === undefined || blob === undefined || turns.length > 1 || blobs.length > 1) return;
  for (const other of Object.values(others)) if (other !== undefined) return;
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
export function toCommitted({ turn, hash, turnFlags, seq, replayed, ...row }: RowAck): Committed {
  const stored = {
    ...row,
    id: turn as TurnId,
    context: row.context as ContextId,
    parent: row.parent as TurnId,
    payload: hash,
    flags: turnFlags,
  };
  return { ...NOTHING, seq, replayed, turns: [stored] };
}

const NOTHING = {
  contexts: [],
  opened: [],
  sealed: [],
  patches: [],
  fsRoots: [],
  logs: [],
  docs: [],
} as const;

/** By characters, each of which has at most three bytes. */
function fits(text: string): boolean {
  return text !== '' && text.length * 3 <= NAME_BYTES_MAX;
}
