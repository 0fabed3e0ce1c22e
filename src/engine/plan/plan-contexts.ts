import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import { decodeForkKey, encodeForkKey, forkKeyName, toForkKey } from '../../format/fork-key.ts';
import type { ForkKey } from '../../format/fork-key.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import type { Batch, ContextChange, ContextRef } from '../batch.ts';
import type { ContextMeta, ContextRow } from '../rows.ts';
import type { Draft, StoredTurn } from './draft.ts';
import { currentDoc } from './plan-records.ts';
import { toHeadRow } from './report.ts';
import type { Report } from './report.ts';

export function planContext(draft: Draft, change: ContextChange, report: Report): void {
  report.changed = true;
  if (change.do === 'create') return planCreate(draft, change, report);
  const head = mustGetHead(draft, change.context);
  if (change.do === 'describe') {
    sayMeta(draft, head, change.meta, report);
    return;
  }
  draft.heads.set(Number(head.id), { ...head, removed: true });
  report.heads.delete(head.id);
  report.removedContexts.push(head.id);
}

function planCreate(
  draft: Draft,
  change: ContextChange & { readonly do: 'create' },
  report: Report,
): void {
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
  draft.counters.nextContext += 1;
  draft.heads.set(Number(id), head);
  report.created.push(id);
  sayMeta(draft, head, meta, report);
  if (change.key !== undefined) noteKey(draft, forkKeyName(base, change.key), toForkKey(id, meta));
}

/** Listeners do not hear of this document: the store uses it as its own memory, and no user owns it. */
function noteKey(draft: Draft, name: string, key: ForkKey): void {
  const version = (currentDoc(draft, name)?.version ?? 0) + 1;
  const content = encodeForkKey(key);
  const record = { name, version, createdAt: draft.nowMs, content, published: false };
  draft.docs.set(name, { record });
}

export function sayMeta(draft: Draft, head: HeadRecord, meta: ContextMeta, report: Report): void {
  // The store keeps what JSON keeps. The caller's object stays the caller's.
  const kept = JSON.parse(canonicalJson(meta)) as ContextMeta;
  draft.metas.set(Number(head.id), kept);
  report.said.set(head.id, kept);
  report.moved(head);
}

export function mustGetHead(draft: Draft, id: ContextId): HeadRecord {
  const head = draft.getHead(id);
  if (head !== undefined) return head;
  throw new QuipuError('NOT_FOUND', `there is no context ${id}`, {
    what: 'context',
    id: String(id),
  });
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
  throw new QuipuError('NOT_FOUND', `there is no sealed turn ${id}`, {
    what: 'turn',
    id: String(id),
  });
}

/** A new context that has an idempotency key. */
type KeyedCreate = ContextChange & { readonly do: 'create'; readonly key: string };

/** Throws INVALID when the batch has more changes: with a known key none of them would be carried out. */
export function keyedCreate(batch: Omit<Batch, 'blobs'>, blobs: number): KeyedCreate | undefined {
  const keyed = batch.contexts?.find(isKeyed);
  if (keyed === undefined) return undefined;
  const { contexts, ...rest } = batch;
  const isEmpty = (list: unknown): boolean =>
    list === undefined || (Array.isArray(list) && list.length === 0);
  const isAlone =
    contexts?.length === 1 && blobs === 0 && Object.values(rest).every((list) => isEmpty(list));
  if (isAlone) return keyed;
  throw invalid('key', 'stands for one new context, and the batch holds more');
}

/** The context that the key created, as it is now. A key lives as long as its context. */
export function findFork(draft: Draft, change: KeyedCreate): ContextRow | undefined {
  const { base = NO_TURN, key, meta = {} } = change;
  const text = draft.readDoc(forkKeyName(base, key));
  if (text === undefined) return undefined;
  const { context, said } = decodeForkKey(text);
  const head = draft.getHead(context);
  if (head === undefined) return undefined;
  if (said === toForkKey(context, meta).said) {
    return { ...toHeadRow(head), meta: draft.getMeta(context) };
  }
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(key)} stands for context ${context}, which was made with other details; use a new key`,
    { context: String(context), key, turn: String(base) },
  );
}

function isKeyed(change: ContextChange): change is KeyedCreate {
  return change.do === 'create' && change.key !== undefined;
}
