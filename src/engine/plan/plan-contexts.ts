import { NO_TURN, type ContextId, type TurnId } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { QuipuError, invalid, exists, notFound, locked } from '../../base/errors.ts';
import { decodeForkKey, encodeForkKey, forkKeyName, toForkKey } from '../../format/fork-key.ts';
import {
  headMovesName,
  LEFT_HEADS_MAX,
  decodeHeadMoves,
  encodeHeadMoves,
  type LeftHead,
} from '../../format/head-moves.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import type { Batch, ContextChange, ContextRef } from '../batch.ts';
import type { ContextMeta, ContextRow } from '../rows.ts';
import type { Draft, StoredTurn } from './draft.ts';
import { currentDoc, writeDoc } from './plan-records.ts';
import { toHeadRow, type Report } from './report.ts';
import { jumpDepth } from '../../format/turn-record.ts';

export function planContext(draft: Draft, change: ContextChange, report: Report): void {
  if (change.do === 'move') return planMove(draft, change, report);
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
  const head = beginAt(id, base, draft.nowMs, depthOf(draft, base));
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
  writeDoc(draft, { name, version, content, published: false });
}

/** A removed context needs its moves no more. */
export function forgetMoves(draft: Draft, id: ContextId): void {
  const name = headMovesName(id);
  const old = currentDoc(draft, name);
  if (old === undefined || old.removed) return;
  writeDoc(draft, { name, version: old.version, content: undefined, published: false });
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

/** The depth of a sealed turn; 0 also for none. */
export function depthOf(draft: Draft, id: TurnId): number {
  return id === NO_TURN ? 0 : mustGetSealed(draft, id).row.depth;
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

export function assertNoOpenTurn({ id, openTurn }: HeadRecord): void {
  if (openTurn === NO_TURN) return;
  throw locked(
    'context',
    String(openTurn),
    `turn ${openTurn} is open in context ${id}; seal or abort it first`,
  );
}

export function assertExpectedHead(head: HeadRecord, expected: TurnId | undefined): void {
  if (expected === undefined || expected === head.head) return;
  throw new QuipuError(
    'HEAD_MOVED',
    `the head of context ${head.id} is turn ${head.head}, not ${expected}; read what is new and try again`,
    { context: String(head.id), expected: String(expected), head: String(head.head) },
  );
}

/** Moves a head to any sealed turn, or to none. A move to where the head is changes nothing. */
function planMove(
  draft: Draft,
  change: ContextChange & { readonly do: 'move' },
  report: Report,
): void {
  const head = mustGetHead(draft, change.context);
  assertNoOpenTurn(head);
  assertExpectedHead(head, change.expectedHead);
  const to = change.head;
  const headDepth = depthOf(draft, to);
  report.said.set(head.id, draft.getMeta(head.id));
  const moved: HeadRecord = { ...head, head: to, headDepth };
  report.moved(moved);
  if (to === head.head) return;
  noteMove(draft, head, to);
  draft.heads.set(Number(head.id), moved);
  report.moves.push(head.id);
  report.changed = true;
}

/** The turns alone could not tell where the head is now. The head that is left can be moved to again for a while. */
function noteMove(draft: Draft, { id, head }: HeadRecord, to: TurnId): void {
  const name = headMovesName(id);
  const text = draft.readDoc(name);
  const before = text === undefined ? [] : (decodeHeadMoves(text)?.left ?? []);
  const left = leftHeads(draft, before, head).filter(({ turn }) => turn !== to);
  const after = BigInt(draft.counters.nextTurn - 1) as TurnId;
  remember(draft, name, encodeHeadMoves({ move: { to, after }, left }));
}

/** A head that the newest one builds on is part of it: going back step by step leaves one head. */
function leftHeads(draft: Draft, before: readonly LeftHead[], head: TurnId): readonly LeftHead[] {
  const [newest] = before;
  if (head === NO_TURN || (newest !== undefined && isBefore(draft, head, newest.turn))) {
    return before;
  }
  const others = before.filter(({ turn }) => turn !== head);
  return [{ turn: head, leftAt: draft.nowMs }, ...others].slice(0, LEFT_HEADS_MAX);
}

/** True when `older` is `newer` or one of its ancestors. */
function isBefore(draft: Draft, older: TurnId, newer: TurnId): boolean {
  const depth = draft.getSealedTurn(older)?.row.depth;
  let turn = draft.getSealedTurn(newer);
  while (depth !== undefined && turn !== undefined && turn.row.depth > depth) {
    const { row, jump } = turn;
    const isNear = row.depth === 0 || jumpDepth(row.depth) < depth;
    turn = draft.getSealedTurn(isNear ? row.parent : (BigInt(jump) as TurnId));
  }
  return turn?.row.id === older;
}

/** A context that begins at `base`, which stands at `headDepth`. */
export function beginAt(id: ContextId, base: TurnId, createdAt: number, headDepth = 0): HeadRecord {
  return {
    id,
    head: base,
    headDepth,
    base,
    openTurn: NO_TURN,
    openBytes: 0,
    createdAt,
    updatedAt: createdAt,
    removed: false,
  };
}
