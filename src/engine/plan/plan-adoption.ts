import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { invalid, notFound } from '../../base/errors.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import { NO_HASH } from '../../format/patch-record.ts';
import type { AdoptedContext, Adoption, DocEntry, PatchEntry, Sha256Name } from '../adoption.ts';
import { assertJsonText } from '../json-text.ts';
import { assertName } from '../names.ts';
import { adoptTurn, assertPayload, assertU32, moveToTurn, outOfOrder } from './adopt-turn.ts';
import type { Draft } from './draft.ts';
import { forgetMoves, mustGetSealed, sayMeta } from './plan-contexts.ts';
import { claimFile, currentDoc } from './plan-records.ts';
import type { Report } from './report.ts';

/** Puts records of another store into `draft` as they are. Each record follows the last one of its kind. */
export function planAdoption(draft: Draft, adoption: Adoption, report: Report): void {
  const { turns = [], contexts = [], patches = [], docs = [] } = adoption;
  for (const hash of adoption.erased ?? []) adoptErased(draft, hash, report);
  for (const name of adoption.sha256Names ?? []) adoptName(draft, name, report);
  for (const entry of turns) adoptTurn(draft, entry, report);
  for (const context of contexts) adoptContext(draft, context, report);
  for (const entry of turns) if (entry.gone === undefined) moveToTurn(draft, entry.row, report);
  for (const entry of patches) adoptPatch(draft, entry, report);
  for (const entry of docs) adoptDoc(draft, entry, report);
  report.changed ||= turns.length + contexts.length + patches.length + docs.length > 0;
  draft.nowMs = Math.max(draft.nowMs, ...timesOf(adoption));
}

/** A time that the other store handed out must not be later than a time that this store hands out. */
function* timesOf({ turns = [], contexts = [], patches = [] }: Adoption): Generator<number> {
  for (const entry of turns) if (entry.gone === undefined) yield assertTime(entry.row.createdAt);
  for (const context of contexts) {
    if (context.removed === undefined) yield assertTime(context.updatedAt);
  }
  for (const entry of patches) {
    if ('patch' in entry) yield assertTime(entry.patch.createdAt);
    if ('fsRoot' in entry) yield assertTime(entry.createdAt);
  }
}

function assertTime(ms: number): number {
  if (Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw invalid('time', `must be in milliseconds since 1970, got ${ms}`);
}

function adoptErased(draft: Draft, hash: Hash, report: Report): void {
  if (draft.hasBlob(hash) || draft.isErased(hash)) return;
  draft.erased.set(hash, true);
  report.changed = true;
}

function adoptName(draft: Draft, { sha256, hash }: Sha256Name, report: Report): void {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw invalid('sha256', 'must have 64 lower-case hex digits');
  if (!draft.hasBlob(hash) || draft.findSha256(sha256) !== undefined) return;
  draft.sha256.set(sha256, hash);
  report.changed = true;
}

function adoptContext(draft: Draft, context: AdoptedContext, report: Report): void {
  const { counters } = draft;
  const number = Number(context.id);
  if (number > counters.nextContext || number < 1) {
    throw outOfOrder('context', number, counters.nextContext);
  }
  const isNew = number === counters.nextContext;
  if (isNew) counters.nextContext += 1;
  if (context.removed !== undefined) {
    const before = isNew ? beginAt(context.id, NO_TURN, 0) : draft.getHead(context.id);
    if (before === undefined) return;
    forgetMoves(draft, context.id);
    draft.heads.set(number, { ...before, removed: true });
    report.heads.delete(context.id);
    if (!isNew) report.removedContexts.push(context.id);
    return;
  }
  const { base, createdAt, updatedAt, meta } = context;
  assertTime(createdAt);
  const before = isNew ? newHead(draft, context) : draft.getHead(context.id);
  if (before?.base !== base || before.createdAt !== createdAt) {
    throw invalid('contexts', `say of context ${number} what does not fit the one that is here`);
  }
  const moved = context.movedTo === undefined ? {} : headAt(draft, context.movedTo);
  const later = Math.max(updatedAt, isNew ? 0 : before.updatedAt);
  const head = { ...before, ...moved, updatedAt: later };
  draft.heads.set(number, head);
  if (meta.name !== undefined) handOver(draft, meta.name, context.id, report);
  sayMeta(draft, head, meta, report);
}

function headAt(draft: Draft, head: TurnId): Pick<HeadRecord, 'head' | 'headDepth'> {
  return { head, headDepth: head === NO_TURN ? 0 : mustGetSealed(draft, head).row.depth };
}

/** A context that has the name here, and has lost it in the other store, loses it here, too. */
function handOver(draft: Draft, name: string, to: ContextId, report: Report): void {
  const holder = draft.findName(name);
  const head = holder === undefined || holder === to ? undefined : draft.getHead(holder);
  if (head === undefined) return;
  const { name: _, ...meta } = draft.getMeta(head.id);
  sayMeta(draft, head, meta, report);
}

/**
 * The context begins at its base. A base that is gone there is gone here, and the context has turns of another
 * chain.
 */
function newHead(draft: Draft, context: AdoptedContext & { removed?: undefined }): HeadRecord {
  const { id, base, createdAt } = context;
  if (base === NO_TURN) return beginAt(id, base, createdAt);
  if (draft.isGone(Number(base))) return { ...beginAt(id, NO_TURN, createdAt), base };
  return { ...beginAt(id, base, createdAt), headDepth: mustGetSealed(draft, base).row.depth };
}

function beginAt(id: ContextId, base: TurnId, createdAt: number): HeadRecord {
  return {
    id,
    head: base,
    headDepth: 0,
    base,
    openTurn: NO_TURN,
    openBytes: 0,
    createdAt,
    updatedAt: createdAt,
    removed: false,
  };
}

function adoptPatch(draft: Draft, entry: PatchEntry, report: Report): void {
  const { counters } = draft;
  const { seq } = entry;
  if (seq !== counters.nextPatch) throw outOfOrder('patch', seq, counters.nextPatch);
  counters.nextPatch += 1;
  if ('gone' in entry) {
    const nobody = { turn: NO_TURN, payload: NO_HASH, tombstone: false, fsRoot: true };
    draft.patches.set(seq, { seq, ...nobody, encoding: 0, size: 0, createdAt: 0 });
    return;
  }
  if ('patch' in entry) {
    const { patch } = entry;
    if (!isTurnGone(draft, patch.turn)) assertPayload(draft, patch.payload);
    assertU32(patch, ['encoding', 'size']);
    draft.patches.set(seq, { ...patch, seq, fsRoot: false });
    draft.newestPatches.set(Number(patch.turn), seq);
    report.patches.push(patch);
    return;
  }
  const { fsRoot, createdAt, replaced } = entry;
  const { turn, root: payload } = fsRoot;
  if (!isTurnGone(draft, turn) && !replaced) assertPayload(draft, payload);
  const record = { turn, seq, payload, tombstone: false, fsRoot: true, encoding: 0, size: 0 };
  draft.patches.set(seq, { ...record, createdAt });
  report.fsRoots.push(fsRoot);
}

/** Throws NOT_FOUND for a turn that never existed. */
function isTurnGone(draft: Draft, turn: TurnId): boolean {
  const number = Number(turn);
  if (number < 1 || number >= draft.counters.nextTurn) throw notFound('turn', turn);
  if (draft.isGone(number)) return true;
  mustGetSealed(draft, turn);
  return false;
}

function adoptDoc(draft: Draft, { row, published }: DocEntry, report: Report): void {
  const { name, version, content } = row;
  assertName(name, 'document name');
  assertJsonText(content, 'content');
  const old = currentDoc(draft, name);
  if (!Number.isSafeInteger(version) || version <= (old?.version ?? 0)) {
    throw invalid('docs', `bring version ${version} of ${name}, which is at ${old?.version ?? 0}`);
  }
  if (published) claimFile(draft, name, 'doc');
  draft.docs.set(name, { record: { name, version, createdAt: draft.nowMs, content, published } });
  report.docs.set(name, row);
}
