import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { QuipuError, invalid, exists, notFound } from '../../base/errors.ts';
import { decodeForkKey, encodeForkKey, forkKeyName, toForkKey } from '../../format/fork-key.ts';
import { headMovesName } from '../../format/head-moves.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import type { Batch, ContextChange, ContextRef } from '../batch.ts';
import type { ContextMeta, ContextRow } from '../rows.ts';
import type { Draft, StoredTurn } from './draft.ts';
import { currentDoc } from './plan-records.ts';
import { toHeadRow } from './report.ts';
import type { Report } from './report.ts';

/** Changes of every kind but moves, see `planMove`. */
export function planContext(
  draft: Draft,
  change: Exclude<ContextChange, { readonly do: 'move' }>,
  report: Report,
): void {
  report.changed = true;
  if (change.do === 'create') return planCreate(draft, change, report);
  const head = mustGetHead(draft, change.context);
  if (change.do === 'describe') {
    const { name } = draft.getMeta(head.id);
    sayMeta(draft, head, { ...change.meta, ...(name !== undefined && { name }) }, report);
    return;
  }
  if (change.do === 'rename') {
    const { name: _, ...meta } = draft.getMeta(head.id);
    const named = change.name === undefined ? meta : { ...meta, name: change.name };
    assertNameFree(draft, head.id, named);
    sayMeta(draft, head, named, report);
    return;
  }
  forgetMoves(draft, head.id);
  draft.heads.set(Number(head.id), { ...head, removed: true });
  report.heads.delete(head.id);
  report.removedContexts.push(head.id);
}

function planCreate(draft: Draft, change: Create, report: Report): void {
  const { base = NO_TURN, meta = {} } = change;
  const id = BigInt(draft.counters.nextContext) as ContextId;
  const head: HeadRecord = {
    id,
    head: base,
    headDepth: base === NO_TURN ? 0 : mustGetSealed(draft, base).row.depth,
    base,
    openTurn: NO_TURN,
    openBytes: 0,
    createdAt: draft.nowMs,
    updatedAt: draft.nowMs,
    removed: false,
  };
  assertNameFree(draft, id, meta);
  draft.counters.nextContext += 1;
  draft.heads.set(Number(id), head);
  report.created.push(id);
  sayMeta(draft, head, meta, report);
  if (change.key === undefined) return;
  remember(draft, forkKeyName(base, change.key), encodeForkKey(toForkKey(id, meta)));
}

/** Throws EXISTS when another context has the name. */
function assertNameFree(draft: Draft, id: ContextId, { name }: ContextMeta): void {
  const holder = name === undefined ? undefined : draft.findName(name);
  if (holder === undefined || holder === id) return;
  throw exists(
    'context',
    String(holder),
    `the name ${JSON.stringify(name)} belongs to context ${holder}; choose another one, or rename that context`,
  );
}

/** Listeners do not hear of this document: the store uses it as its own memory, and no user owns it. */
export function remember(draft: Draft, name: string, content: string): void {
  const version = (currentDoc(draft, name)?.version ?? 0) + 1;
  const record = { name, version, createdAt: draft.nowMs, content, published: false };
  draft.docs.set(name, { record });
}

/** A removed context needs its moves no more. */
export function forgetMoves(draft: Draft, id: ContextId): void {
  const name = headMovesName(id);
  const old = currentDoc(draft, name);
  if (old === undefined || old.removed) return;
  const { version } = old;
  const record = { name, version, createdAt: draft.nowMs, content: undefined, published: false };
  draft.docs.set(name, { record });
}

export function sayMeta(draft: Draft, head: HeadRecord, meta: ContextMeta, report: Report): void {
  // The store keeps what JSON keeps. The caller's object stays the caller's.
  const kept = JSON.parse(canonicalJson(meta)) as ContextMeta;
  draft.metas.set(Number(head.id), kept);
  if (kept.name !== undefined) draft.names.set(kept.name, Number(head.id));
  report.said.set(head.id, kept);
  report.moved(head);
}

export function mustGetHead(draft: Draft, id: ContextId): HeadRecord {
  const head = draft.getHead(id);
  if (head !== undefined) return head;
  throw notFound('context', String(id));
}

/** A context that exists, or the one that this batch created. */
export function resolveContext(draft: Draft, ref: ContextRef, report: Report): HeadRecord {
  if (typeof ref === 'bigint') return mustGetHead(draft, ref);
  const id = report.created[ref.created];
  if (id !== undefined) return mustGetHead(draft, id);
  throw invalid('context', `names creation ${ref.created}, which is not in the batch`);
}

/** An open turn counts as missing: nothing may depend on a turn that can still change. */
export function mustGetSealed(draft: Draft, id: TurnId): StoredTurn {
  const turn = id === NO_TURN ? undefined : draft.getSealedTurn(id);
  if (turn !== undefined) {
    draft.view.relyOnTurn(id);
    return turn;
  }
  throw notFound('turn', String(id), `there is no sealed turn ${id}`);
}

type Create = ContextChange & { readonly do: 'create' };

/** The context that the batch would make, when it is there already: by its key, or by its name. */
export function findMade(
  draft: Draft,
  batch: Omit<Batch, 'blobs'>,
  blobs: number,
): ContextRow | undefined {
  const create = batch.contexts?.find(
    (change): change is Create =>
      change.do === 'create' && (change.key !== undefined || change.getNamed !== undefined),
  );
  if (create === undefined) return undefined;
  assertAlone(batch, blobs);
  const { key, getNamed, meta = {} } = create;
  if (getNamed === undefined) return key === undefined ? undefined : findFork(draft, create, key);
  if (meta.name === undefined || key !== undefined) {
    throw invalid('getNamed', 'needs a name, and takes no key');
  }
  const id = draft.findName(meta.name);
  return id && toRow(draft, mustGetHead(draft, id));
}

/** Throws INVALID when the batch has more changes: if the context is there, none of them would be carried out. */
function assertAlone({ contexts, ...rest }: Omit<Batch, 'blobs'>, blobs: number): void {
  const isEmpty = (list: unknown): boolean =>
    list === undefined || (Array.isArray(list) && list.length === 0);
  if (contexts?.length === 1 && blobs === 0 && Object.values(rest).every((list) => isEmpty(list))) {
    return;
  }
  throw invalid('key', 'covers one new context, but the batch creates more');
}

/** The context that the key created, as it is now. A key lives as long as its context. */
function findFork(draft: Draft, change: Create, key: string): ContextRow | undefined {
  const { base = NO_TURN, meta = {} } = change;
  const text = draft.readDoc(forkKeyName(base, key));
  if (text === undefined) return undefined;
  const { context, said } = decodeForkKey(text);
  const head = draft.getHead(context);
  if (head === undefined) return undefined;
  if (said === toForkKey(context, meta).said) return toRow(draft, head);
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(key)} stands for context ${context}, which was made with other details; use a new key`,
    { context: String(context), key, turn: String(base) },
  );
}

function toRow(draft: Draft, head: HeadRecord): ContextRow {
  return { ...toHeadRow(head), meta: draft.getMeta(head.id) };
}
