import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import { hexOf } from '../../base/hash.ts';
import type { AdoptedContext, Adoption, PatchEntry, TurnEntry } from '../../engine/adoption.ts';
import { assertJsonText } from '../../engine/json-text.ts';
import { assertName } from '../../engine/names.ts';
import type { ContextRow, TurnRow } from '../../engine/rows.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { Draft } from './draft.ts';
import { forgetMoves } from './head-moves.ts';
import type { ModelState } from './model-state.ts';

const NEVER_STORED = TurnFlag.OPEN | TurnFlag.PATCHED | TurnFlag.TOMBSTONE;

/** Applies the whole adoption to `state`, or throws and leaves the state as it was. */
export function applyAdoption(state: ModelState, adoption: Adoption, clockMs: number): void {
  const draft = new Draft(state, Math.max(state.timeMs, clockMs));
  const added: TurnId[] = [];
  try {
    applyLists(draft, adoption, added);
  } catch (error) {
    draft.rollBack();
    for (const id of added) state.collected.delete(id);
    throw error;
  }
  if (!draft.changed) return;
  state.seq = draft.seq;
  const rows = (adoption.turns ?? []).flatMap((entry) => (entry.gone ? [] : [entry.row.createdAt]));
  state.timeMs = Math.max(draft.nowMs, ...rows);
}

/** `added` receives the turns that are gone: a set remembers no earlier state. */
function applyLists(draft: Draft, adoption: Adoption, added: TurnId[]): void {
  const { state } = draft;
  const { turns = [], contexts = [] } = adoption;
  for (const hash of adoption.erased ?? []) {
    if (!state.blobs.has(hash)) draft.set(state.erased, hash, true);
  }
  for (const { sha256, hash } of adoption.sha256Names ?? []) {
    if (!/^[0-9a-f]{64}$/.test(sha256))
      throw invalid('sha256', 'must have 64 lower-case hex digits');
    if (state.blobs.has(hash) && !state.sha256.has(sha256)) draft.set(state.sha256, sha256, hash);
  }
  for (const entry of turns) {
    adoptTurn(draft, entry);
    if (entry.gone === undefined) continue;
    state.collected.add(entry.id);
    added.push(entry.id);
  }
  for (const context of contexts) adoptContext(draft, context);
  for (const entry of turns) if (entry.gone === undefined) moveTo(draft, entry.row);
  for (const entry of adoption.patches ?? []) adoptPatch(draft, entry);
  for (const { row, published } of adoption.docs ?? []) {
    assertName(row.name, 'document name');
    assertJsonText(row.content, 'content');
    if (row.version <= (state.docs.get(row.name)?.row.version ?? 0)) {
      throw invalid('docs', `bring version ${row.version} of ${row.name}`);
    }
    draft.set(state.docs, row.name, { row, removed: false, published });
  }
}

function adoptTurn(draft: Draft, entry: TurnEntry): void {
  const { state } = draft;
  if (entry.id !== draft.nextTurnId()) throw outOfOrder('turn', entry.id, draft.nextTurnId());
  if (entry.gone === undefined) checkTurn(state, entry.row);
  const row = entry.gone === undefined ? entry.row : stubOf(entry.id);
  draft.set(state.turns, entry.id, row);
  if (entry.key !== undefined) {
    const scope = hexOf(entry.key);
    if (state.keys.has(scope)) throw invalid('turns', 'bring a key that another turn has');
    draft.set(state.keys, scope, [entry.id]);
  }
  if ((row.flags & TurnFlag.CONTINUES) === 0) return;
  for (const [scope, ids] of state.keys) {
    if (ids.at(-1) === entry.id - 1n) draft.set(state.keys, scope, [...ids, entry.id]);
  }
}

function checkTurn(state: ModelState, row: TurnRow): void {
  const { id, flags, payload, parent, depth } = row;
  if ((flags & NEVER_STORED) !== 0 || payload === undefined) {
    throw invalid(
      'turns',
      `bring turn ${id}, which is not sealed or has flags that only reads set`,
    );
  }
  const fits = parent === NO_TURN ? 0 : state.mustGetSealedTurn(parent).depth + 1;
  if (depth !== fits)
    throw invalid('turns', `give turn ${id} a depth that does not fit its parent`);
  assertPayload(state, payload);
}

function stubOf(id: TurnId): TurnRow {
  const place = { parent: NO_TURN, context: 0n as ContextId, depth: 0 };
  const about = { type: '', version: 0, encoding: 0, flags: 0, createdAt: 0 };
  return { id, ...place, ...about, payload: undefined, size: 0 };
}

function adoptContext(draft: Draft, context: AdoptedContext): void {
  const { state } = draft;
  const { id } = context;
  const next = BigInt(state.contexts.size + 1);
  if (id > next || id < 1n) throw outOfOrder('context', id, next);
  const old = id === next ? undefined : state.contexts.get(id);
  if (context.removed !== undefined) {
    const row = old?.row ?? {
      ...beginAt(state, id, NO_TURN),
      createdAt: 0,
      updatedAt: 0,
      meta: {},
    };
    forgetMoves(draft, id);
    draft.set(state.contexts, id, { row, removed: true, movedSeq: old?.movedSeq ?? draft.seq });
    return;
  }
  const { base, createdAt, updatedAt, meta } = context;
  const { movedTo: head } = context;
  const depth = head === undefined || head === NO_TURN ? 0 : state.mustGetSealedTurn(head).depth;
  const moved = head === undefined ? {} : { head, headDepth: depth };
  const holder = meta.name === undefined ? undefined : state.findContext(meta.name)?.id;
  if (holder !== undefined && holder !== id) {
    const held = state.mustGetContext(holder);
    const { name: _, ...rest } = held.row.meta;
    draft.updateContext(held, { meta: rest }, false);
  }
  if (old !== undefined) {
    const { row, removed } = old;
    if (removed || row.base !== base || row.createdAt !== createdAt) {
      throw invalid('contexts', `say of context ${id} what does not fit the one that is here`);
    }
    const said = { meta, ...moved, updatedAt: Math.max(updatedAt, row.updatedAt) };
    draft.updateContext(old, said, false);
    return;
  }
  const row: ContextRow = { ...beginAt(state, id, base), ...moved, createdAt, updatedAt, meta };
  draft.set(state.contexts, id, { row, removed: false, movedSeq: draft.seq });
}

function beginAt(
  state: ModelState,
  id: ContextId,
  base: TurnId,
): Omit<ContextRow, 'createdAt' | 'updatedAt' | 'meta'> {
  const head = state.collected.has(base) ? NO_TURN : base;
  const headDepth = head === NO_TURN ? 0 : state.mustGetSealedTurn(head).depth;
  return { id, head, headDepth, base, openTurn: NO_TURN };
}

function moveTo(draft: Draft, row: TurnRow): void {
  const context = draft.state.contexts.get(row.context);
  if (context === undefined) throw notFound('context', row.context);
  if (context.removed) return;
  const { openTurn, updatedAt } = context.row;
  if (openTurn !== NO_TURN) {
    const owner = String(openTurn);
    throw new QuipuError('LOCKED', `turn ${owner} is open`, { what: 'context', owner });
  }
  const moved = { head: row.id, headDepth: row.depth };
  const later = Math.max(updatedAt, row.createdAt);
  draft.updateContext(context, { ...moved, updatedAt: later }, false);
}

function adoptPatch(draft: Draft, entry: PatchEntry): void {
  const { state } = draft;
  const { seq } = entry;
  if (seq !== state.nextSeq) throw outOfOrder('patch', seq, state.nextSeq);
  if ('gone' in entry) {
    draft.set(state.goneSeqs, seq, true);
    return;
  }
  const turn = 'patch' in entry ? entry.patch.turn : entry.fsRoot.turn;
  const isGone = state.collected.has(turn);
  if (!isGone) state.mustGetSealedTurn(turn);
  if ('patch' in entry) {
    if (!isGone) assertPayload(state, entry.patch.payload);
    draft.set(state.patches, seq, entry.patch);
    return;
  }
  if (!isGone && !entry.replaced) assertPayload(state, entry.fsRoot.root);
  draft.set(state.fsRoots, seq, entry.fsRoot);
  draft.set(state.fsRootTimes, seq, entry.createdAt);
}

function assertPayload(state: ModelState, hash: Hash): void {
  if (!state.erased.has(hash)) state.assertBlob(hash);
}

function notFound(what: string, id: bigint): QuipuError<'NOT_FOUND'> {
  return new QuipuError('NOT_FOUND', `there is no ${what} ${id}`, { what, id: String(id) });
}

function outOfOrder(
  what: string,
  got: bigint | number,
  next: bigint | number,
): QuipuError<'INVALID'> {
  return invalid('adoption', `continues at ${what} ${got}, and the store at ${what} ${next}`);
}
