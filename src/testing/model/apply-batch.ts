import type { Hash, TurnId } from '../../base/brand.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import type { Batch, Change, Committed, Idempotency, TurnAppend } from '../../engine/batch.ts';
import type { TurnRow } from '../../engine/rows.ts';
import { idempotencyHash } from '../../format/idempotency.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { applyContext } from './apply-contexts.ts';
import { applyFsRoot } from './apply-fs-roots.ts';
import { applyBlob, applyDoc, applyLog } from './apply-records.ts';
import { applyAppend, applyDelta, applyOpen, applyPatch, applySeals } from './apply-turns.ts';
import { Draft } from './draft.ts';
import { findFork } from './fork-keys.ts';
import type { ModelState } from './model-state.ts';

/** `change` is undefined when there is nothing for listeners to hear. */
export interface Applied {
  readonly committed: Committed;
  readonly change: Change | undefined;
}

/** Applies the whole batch to `state`, or throws and leaves the state as it was. */
export function applyBatch(state: ModelState, batch: Batch, clockMs: number): Applied {
  if (batch.idempotency !== undefined) {
    const turns = findFirst(state, batch.idempotency, batch.turns ?? []);
    if (turns !== undefined) return { committed: replay(state.seq, turns), change: undefined };
  }

  const known = findKnown(state, batch);
  if (known !== undefined && known.every((row) => row !== undefined)) {
    return { committed: replay(state.seq, known), change: undefined };
  }

  const forked = findFork(state, batch);
  if (forked !== undefined) {
    return { committed: { ...replay(state.seq, []), contexts: [forked] }, change: undefined };
  }

  // If the clock jumps back, the time here stands still until the clock has caught up.
  const draft = new Draft(state, Math.max(state.timeMs, clockMs));
  let answer: readonly TurnRow[] | undefined;
  try {
    answer = applyLists(draft, batch, known !== undefined);
  } catch (error) {
    draft.rollBack();
    throw error;
  }
  const change = draft.toChange();
  const committed = { ...draft.toCommitted(), ...(answer !== undefined && { turns: answer }) };
  if (!draft.changed) return { committed, change: undefined };
  state.seq = draft.seq;
  state.timeMs = draft.nowMs;
  return { committed, change };
}

/** Returns the turns to answer with, if they have keys of their own. */
function applyLists(draft: Draft, batch: Batch, keyed: boolean): readonly TurnRow[] | undefined {
  const { idempotency } = batch;
  for (const put of batch.blobs ?? []) applyBlob(draft, put);
  for (const change of batch.contexts ?? []) applyContext(draft, change);
  const answer = keyed ? applyKeyed(draft, batch.turns ?? []) : undefined;
  for (const [index, append] of (keyed ? [] : (batch.turns ?? [])).entries()) {
    applyAppend(draft, append, idempotency !== undefined && index > 0);
  }
  if (idempotency !== undefined) {
    const ids = draft.turns.map((turn) => turn.id);
    draft.set(draft.state.keys, toScope(draft.state, idempotency), ids);
  }
  for (const open of batch.opens ?? []) applyOpen(draft, open);
  for (const delta of batch.deltas ?? []) applyDelta(draft, delta);
  applySeals(draft, batch.seals ?? []);
  for (const patch of batch.patches ?? []) applyPatch(draft, patch);
  for (const attach of batch.fsRoots ?? []) applyFsRoot(draft, attach);
  for (const change of batch.logs ?? []) applyLog(draft, change);
  for (const change of batch.docs ?? []) applyDoc(draft, change);
  return answer;
}

/** Turn by turn, as if each came alone: a known key gives its turn, and the others are appended. */
function applyKeyed(draft: Draft, appends: readonly TurnAppend[]): TurnRow[] {
  const { state } = draft;
  const answer: TurnRow[] = [];
  let expected: TurnId | undefined;
  for (const append of appends) {
    expected = append.expectedHead ?? expected;
    const scope = scopeOf(append);
    const [known] = findFirst(state, scope, [append]) ?? [];
    if (known !== undefined) {
      answer.push(known);
      continue;
    }
    applyAppend(draft, expected === undefined ? append : { ...append, expectedHead: expected });
    expected = undefined;
    const row = draft.turns.at(-1) as TurnRow;
    draft.set(state.keys, toScope(state, scope), [row.id]);
    answer.push(row);
  }
  return answer;
}

/** The turns that are there, for turns with keys of their own. Undefined when they have none. */
function findKnown(
  state: ModelState,
  { turns = [], idempotency }: Batch,
): readonly (TurnRow | undefined)[] | undefined {
  if (!turns.some(({ key }) => key !== undefined)) return undefined;
  if (idempotency !== undefined)
    throw invalid('key', 'of a turn cannot stand in a batch that has a key; give one of the two');
  return turns.map((append) => findFirst(state, scopeOf(append), [append])?.[0]);
}

function scopeOf({ context, key }: TurnAppend): Idempotency {
  if (key === undefined) throw invalid('key', 'is needed for every turn of a batch, or for none');
  if (typeof context === 'bigint') return { context, key };
  throw invalid('key', 'needs a context that exists already');
}

/** Returns the turns of this key, if it was seen before. Throws when the batch has other turns. */
function findFirst(
  state: ModelState,
  idempotency: Idempotency,
  appends: readonly TurnAppend[],
): readonly TurnRow[] | undefined {
  if (appends.length === 0)
    throw invalid('idempotency', 'needs a turn: a batch without turns takes no key');
  if (appends.some((append) => append.context !== idempotency.context)) {
    throw invalid('idempotency', 'covers one context, but a turn of the batch goes to another');
  }
  const ids: readonly TurnId[] | undefined = state.keys.get(toScope(state, idempotency));
  if (ids === undefined) return undefined;
  const rows = ids.map((id) => state.mustGetTurn(id));
  const same = rows.every(
    (row, at) => isSame(row, appends[at]) && rootGiven(state, row) === appends[at]?.fsRoot,
  );
  if (rows.length === appends.length && same) return rows;
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(idempotency.key)} stands for other turns`,
    {
      context: String(idempotency.context),
      key: idempotency.key,
      turn: String(ids[0]),
    },
  );
}

function isSame(row: TurnRow, append: TurnAppend | undefined): boolean {
  const parentGiven = (row.flags & TurnFlag.PARENT_GIVEN) !== 0;
  return (
    append !== undefined &&
    row.type === append.type &&
    row.version === append.version &&
    row.encoding === append.encoding &&
    row.payload === append.payload &&
    row.size === append.size &&
    append.parent === (parentGiven ? row.parent : undefined)
  );
}

/** Returns the file-system root that a turn came with, whatever root it was given later. */
function rootGiven(state: ModelState, { id, flags }: TurnRow): Hash | undefined {
  return (flags & TurnFlag.FS_ROOT) === 0 ? undefined : state.fsRootsOf(id)[0]?.root;
}

function replay(seq: number, turns: readonly TurnRow[]): Committed {
  return {
    seq,
    replayed: true,
    contexts: [],
    turns,
    opened: [],
    sealed: [],
    patches: [],
    fsRoots: [],
    logs: [],
    docs: [],
  };
}

/** A key lives as long as its turn: once the turn was collected, the key begins a new life. */
function toScope(state: ModelState, { context, key }: Idempotency): string {
  for (let life = 0; ; life += 1) {
    const scope = idempotencyHash(context, key, life);
    const [first] = state.keys.get(scope) ?? [];
    if (first === undefined || !state.collected.has(first)) return scope;
  }
}
