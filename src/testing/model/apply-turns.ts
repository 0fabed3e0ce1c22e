import { NO_TURN } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import type { PatchAppend, TurnAppend, TurnDelta, TurnOpen, TurnSeal } from '../../engine/batch.ts';
import type { PatchRow, TurnRow } from '../../engine/rows.ts';
import { hashBytes } from '../../base/hash.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { applyFsRoot } from './apply-fs-roots.ts';
import { applyBlob } from './apply-records.ts';
import type { Draft } from './draft.ts';
import type { ModelContext } from './model-state.ts';

const OUTCOME_FLAG: Record<TurnSeal['outcome'], number> = {
  complete: 0,
  aborted: TurnFlag.ABORTED,
  interrupted: TurnFlag.INTERRUPTED,
};

/** `continues`: the turn is not the first one of a batch with an idempotency key. */
export function applyAppend(draft: Draft, append: TurnAppend, continues = false): void {
  const { state } = draft;
  const context = draft.resolveContext(append.context);
  const place = planPlace(draft, context, append);
  state.assertBlob(append.payload);
  const flags = place.flags | (continues ? TurnFlag.CONTINUES : 0);
  const row = { ...place, payload: append.payload, size: append.size, flags };
  draft.set(state.turns, row.id, row);
  giveRoot(draft, row.id, append);
  draft.updateContext(context, { head: row.id, headDepth: row.depth }, true);
  draft.turns.push(row);
}

export function applyOpen(draft: Draft, open: TurnOpen): void {
  const { state } = draft;
  const context = draft.resolveContext(open.context);
  const place = planPlace(draft, context, open);
  const row = { ...place, payload: undefined, size: 0, flags: place.flags | TurnFlag.OPEN };
  draft.set(state.turns, row.id, row);
  draft.set(state.openBytes, row.id, new Uint8Array());
  giveRoot(draft, row.id, open);
  draft.updateContext(context, { openTurn: row.id }, false);
  draft.opened.push(row);
}

export function applyDelta(draft: Draft, delta: TurnDelta): void {
  const { state } = draft;
  const row = state.mustGetTurn(delta.turn);
  const bytes = state.openBytes.get(delta.turn);
  if (bytes === undefined) throw invalid('delta', `comes too late: turn ${delta.turn} has ended`);

  const overlap = bytes.subarray(delta.offset, delta.offset + delta.bytes.length);
  const repeated = delta.bytes.subarray(0, overlap.length);
  if (delta.offset > bytes.length || Buffer.compare(overlap, repeated) !== 0) {
    throw invalid(
      'delta',
      `at ${delta.offset} does not continue turn ${delta.turn} of ${bytes.length} bytes`,
    );
  }
  const added = new Uint8Array(delta.bytes.subarray(overlap.length));
  if (added.length === 0) return;
  const grown = new Uint8Array(Buffer.concat([bytes, added]));
  draft.set(state.openBytes, row.id, grown);
  draft.set(state.turns, row.id, { ...row, size: grown.length });
  draft.deltas.push({ turn: row.id, offset: bytes.length, bytes: added });
}

export function applySeals(draft: Draft, seals: readonly TurnSeal[]): void {
  const bare = seals.filter(({ payload }) => payload === undefined);
  if (bare.length > 1)
    throw invalid('seals', `has ${bare.length} without a payload; send each alone`);
  for (const seal of seals) applySeal(draft, seal);
}

function applySeal(draft: Draft, seal: TurnSeal): void {
  const { state } = draft;
  const row = state.mustGetTurn(seal.turn);
  const flags =
    (row.flags & ~(TurnFlag.OPEN | TurnFlag.ABORTED | TurnFlag.INTERRUPTED)) |
    OUTCOME_FLAG[seal.outcome];
  const bytes = state.openBytes.get(seal.turn);
  if (bytes === undefined) {
    if (seal.payload === undefined) throw invalid('turn', `${seal.turn} is not open any more`);
    if (row.payload !== seal.payload || row.flags !== flags) {
      throw invalid('seal', `names turn ${seal.turn}, which is sealed already with other content`);
    }
    draft.sealed.push(row);
    return;
  }
  if (seal.expectedBytes !== undefined && seal.expectedBytes !== row.size) {
    throw new QuipuError('HEAD_MOVED', `turn ${row.id} has grown to ${row.size} bytes`, {
      context: String(row.id),
      expected: String(seal.expectedBytes),
      head: String(row.size),
    });
  }
  const { payload = hashBytes(bytes), size = bytes.length } = seal;
  if (seal.payload === undefined) applyBlob(draft, { hash: payload, bytes });
  state.assertBlob(payload);
  const sealed: TurnRow = { ...row, payload, size, flags };
  draft.set(state.turns, row.id, sealed);
  draft.delete(state.openBytes, row.id);
  draft.sealed.push(sealed);

  const context = state.contexts.get(row.context);
  if (context === undefined || context.removed) return;
  draft.updateContext(context, { head: row.id, headDepth: row.depth, openTurn: NO_TURN }, true);
}

export function applyPatch(draft: Draft, patch: PatchAppend): void {
  const { state } = draft;
  const turn = state.mustGetTurn(patch.turn);
  if (state.openBytes.has(turn.id))
    throw invalid('patch', `names turn ${turn.id}, which is still open`);
  state.assertBlob(patch.payload);
  const newest = state.patchesOn(turn.id).at(-1)?.seq ?? 0;
  if (patch.expectedSeq !== undefined && patch.expectedSeq !== newest) {
    throw new QuipuError(
      'HEAD_MOVED',
      `the newest patch on turn ${turn.id} is ${newest}, not ${patch.expectedSeq}; read it and try again`,
      {
        context: String(turn.id),
        expected: String(patch.expectedSeq),
        head: String(newest),
      },
    );
  }
  const { tombstone, encoding, payload, size } = patch;
  const seq = state.nextSeq;
  const row: PatchRow = {
    seq,
    turn: turn.id,
    tombstone,
    encoding,
    payload,
    size,
    createdAt: draft.nowMs,
  };
  draft.set(state.patches, seq, row);
  draft.patches.push(row);
}

function giveRoot(draft: Draft, turn: TurnRow['id'], { fsRoot }: TurnOpen): void {
  if (fsRoot !== undefined) applyFsRoot(draft, { turn, root: fsRoot });
}

/** Checks that a turn may join now, and returns its place. */
function planPlace(
  draft: Draft,
  context: ModelContext,
  turn: TurnOpen,
): Omit<TurnRow, 'payload' | 'size'> {
  assertMayMove(context, turn.expectedHead);
  const { id, head } = context.row;
  const parent = turn.parent ?? head;
  const { type, version, encoding } = turn;
  return {
    id: draft.nextTurnId(),
    parent,
    context: id,
    depth: parent === NO_TURN ? 0 : draft.state.mustGetSealedTurn(parent).depth + 1,
    type,
    version,
    encoding,
    flags:
      (turn.parent === undefined ? 0 : TurnFlag.PARENT_GIVEN) |
      (turn.fsRoot === undefined ? 0 : TurnFlag.FS_ROOT),
    createdAt: draft.nowMs,
  };
}

/** Checks that no turn is open, and that the head is the expected one. */
export function assertMayMove(context: ModelContext, expectedHead: TurnId | undefined): void {
  const { id, head, openTurn } = context.row;
  if (openTurn !== NO_TURN) {
    throw new QuipuError('LOCKED', `turn ${openTurn} is open in context ${id}; seal it first`, {
      what: 'context',
      owner: String(openTurn),
    });
  }
  if (expectedHead !== undefined && expectedHead !== head) {
    throw new QuipuError('HEAD_MOVED', `the head of context ${id} is ${head}`, {
      context: String(id),
      expected: String(expectedHead),
      head: String(head),
    });
  }
}
