import { NO_TURN, type ContextId, type Hash, type TurnId, type KeyHash } from '../../base/brand.ts';
import { invalid, notFound, type QuipuError } from '../../base/errors.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import { NO_HASH } from '../../format/patch-record.ts';
import type {
  AdoptedContext,
  Adoption,
  DocEntry,
  PatchEntry,
  Sha256Name,
  TurnEntry,
} from '../adoption.ts';
import { assertJsonText } from '../json-text.ts';
import { assertName } from '../names.ts';
import type { Draft, PlacedTurn } from './draft.ts';
import {
  forgetMoves,
  mustGetSealed,
  sayMeta,
  assertNoOpenTurn,
  beginAt,
  depthOf,
} from './plan-contexts.ts';
import { claimFile, currentDoc, writeDoc } from './plan-records.ts';
import type { Report } from './report.ts';
import { hashBytes } from '../../base/hash.ts';
import { IDEMPOTENCY_BYTES, bytesToKeyHash } from '../../format/idempotency.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import type { TurnRow } from '../rows.ts';
import { declareType, planJump, rootPatch } from './plan-turns.ts';

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
  const { movedTo } = context;
  const moved = movedTo === undefined ? {} : { head: movedTo, headDepth: depthOf(draft, movedTo) };
  const later = Math.max(updatedAt, isNew ? 0 : before.updatedAt);
  const head = { ...before, ...moved, updatedAt: later };
  draft.heads.set(number, head);
  if (meta.name !== undefined) handOver(draft, meta.name, context.id, report);
  sayMeta(draft, head, meta, report);
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
  if (draft.isGone(Number(base))) return { ...beginAt(id, NO_TURN, createdAt), base };
  return beginAt(id, base, createdAt, depthOf(draft, base));
}

function adoptPatch(draft: Draft, entry: PatchEntry, report: Report): void {
  const { counters } = draft;
  const { seq } = entry;
  if (seq !== counters.nextPatch) throw outOfOrder('patch', seq, counters.nextPatch);
  counters.nextPatch += 1;
  if ('gone' in entry) {
    draft.patches.set(seq, { ...rootPatch(NO_TURN, NO_HASH), seq, createdAt: 0 });
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
  draft.patches.set(seq, { ...rootPatch(turn, payload), seq, createdAt });
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
  writeDoc(draft, { name, version, content, published });
  report.docs.set(name, row);
}

const NEVER_STORED = TurnFlag.OPEN | TurnFlag.PATCHED | TurnFlag.TOMBSTONE;

/** Makes the record of the turn. Its context learns of the turn later, since both may come with the same adoption. */
export function adoptTurn(draft: Draft, entry: TurnEntry, report: Report): void {
  const { counters } = draft;
  const number = Number(entry.id);
  if (number !== counters.nextTurn) throw outOfOrder('turn', number, counters.nextTurn);
  const turn = entry.gone === undefined ? planRecord(draft, entry.row) : stubOf(entry);
  if (turn.row.id !== entry.id) throw invalid('turns', `give turn ${number} another number`);
  const idempotency = claimKey(draft, entry);
  counters.nextTurn += 1;
  draft.turns.set(number, { ...turn, idempotency });
  if (idempotency !== undefined) draft.keys.set(idempotency, number);
  if (entry.gone !== undefined) draft.goneTurns.set(number, true);
  else report.turns.push(turn.row);
}

function planRecord(draft: Draft, row: TurnRow): PlacedTurn {
  const { id, flags, payload, type, version } = row;
  if ((flags & NEVER_STORED) !== 0 || payload === undefined) {
    throw invalid(
      'turns',
      `bring turn ${id}, which is not sealed or has flags that only reads set`,
    );
  }
  assertU32(row, ['size', 'encoding', 'flags', 'depth', 'version']);
  const parent = row.parent === NO_TURN ? undefined : mustGetSealed(draft, row.parent);
  if (row.depth !== (parent === undefined ? 0 : parent.row.depth + 1)) {
    throw invalid('turns', `give turn ${id} a depth that does not fit its parent`);
  }
  assertPayload(draft, payload);
  declareType(draft, { type, version });
  return { row, jump: planJump(draft, parent), sideJump: parent?.jump ?? 0 };
}

/** Checks that the payload is here. A payload that was erased in the other store need not be. */
export function assertPayload(draft: Draft, hash: Hash): void {
  if (!draft.hasBlob(hash) && !draft.isErased(hash)) draft.assertBlob(hash);
}

/** A record that holds the turn's number and belongs to no context. */
function stubOf({ id }: TurnEntry): PlacedTurn {
  const place = { parent: NO_TURN, context: 0n as TurnRow['context'], depth: 0 };
  const about = { type: '', version: 0, encoding: 0, flags: 0, createdAt: 0 };
  // A record needs some payload. The payload of a turn that is gone is never read.
  const payload = hashBytes(new Uint8Array());
  return { row: { id, ...place, ...about, payload, size: 0 }, jump: 0, sideJump: 0 };
}

function claimKey(draft: Draft, { id, key }: TurnEntry): KeyHash | undefined {
  if (key === undefined) return undefined;
  if (key.length !== IDEMPOTENCY_BYTES || key.every((byte) => byte === 0)) {
    throw invalid(
      'turns',
      `bring turn ${id} with a key that is no hash of ${IDEMPOTENCY_BYTES} bytes`,
    );
  }
  const hash = bytesToKeyHash(key);
  if ((draft.keys.get(hash) ?? draft.view.findKey(hash)) !== undefined) {
    throw invalid('turns', `bring turn ${id} with a key that another turn has`);
  }
  return hash;
}

/** Makes the turn the head of its context, unless the context was removed. */
export function moveToTurn(draft: Draft, row: TurnRow, report: Report): void {
  const head = draft.getHead(row.context);
  if (head === undefined) {
    const wasThere = row.context >= 1n && Number(row.context) < draft.counters.nextContext;
    if (!wasThere) throw notFound('context', row.context);
    return;
  }
  assertNoOpenTurn(head);
  const updatedAt = Math.max(head.updatedAt, row.createdAt);
  const moved = { ...head, head: row.id, headDepth: row.depth, updatedAt };
  draft.heads.set(Number(head.id), moved);
  report.moved(moved);
}

export function assertU32<K extends string>(
  row: { readonly [Name in K]: number },
  names: readonly K[],
): void {
  for (const name of names) {
    const value = row[name];
    if (Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff) continue;
    throw invalid(name, `must be a whole number below 2^32, got ${value}`);
  }
}

export function outOfOrder(what: string, got: number, next: number): QuipuError<'INVALID'> {
  return invalid(
    'adoption',
    `continues at ${what} ${got}, and the store at ${what} ${next}: it is no copy of that store so far`,
  );
}
