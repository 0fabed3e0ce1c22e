import { NO_TURN, type Hash, type KeyHash, type TurnId } from '../../base/brand.ts';
import { QuipuError, invalid, notFound } from '../../base/errors.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import { idempotencyHash } from '../../format/idempotency.ts';
import { type DeclaredType, jumpsToGrandJump, TurnFlag } from '../../format/turn-record.ts';
import type {
  Batch,
  Idempotency,
  TurnAppend,
  TurnOpen,
  FsRootAttach,
  PatchAppend,
} from '../batch.ts';
import type { TurnRow, PatchRow } from '../rows.ts';
import type { Draft, StoredTurn, PlacedTurn } from './draft.ts';
import {
  mustGetSealed,
  resolveContext,
  assertNoOpenTurn,
  assertExpectedHead,
} from './plan-contexts.ts';
import type { Report } from './report.ts';
import type { PreparedBlob } from '../../format/blob-record.ts';
import type { ReadyBlobs } from './prepared-batch.ts';
import type { PatchRecord } from '../../format/patch-record.ts';

/** A turn's part of its batch's key: the hash, or the flag that it continues the turn with the hash. */
interface KeyPart {
  readonly idempotency: KeyHash | undefined;
  readonly flags: number;
}

const NO_KEY: KeyPart = { idempotency: undefined, flags: 0 };
const GOES_ON: KeyPart = { idempotency: undefined, flags: TurnFlag.CONTINUES };

/** `key` is the batch's key, if it has one. */
export function planTurns(
  draft: Draft,
  appends: readonly TurnAppend[],
  report: Report,
  key: KeyHash | undefined,
): void {
  let part = key === undefined ? NO_KEY : { idempotency: key, flags: 0 };
  for (const append of appends) {
    planTurn(draft, append, report, part);
    if (key !== undefined) part = GOES_ON;
  }
}

/** Appends the turns that are new, and reports the others as they are. */
export function planKeyedTurns(
  draft: Draft,
  appends: readonly TurnAppend[],
  report: Report,
  keyed: readonly KeyedTurn[],
): void {
  const answer: TurnRow[] = [];
  let expected: TurnId | undefined;
  for (const [at, { key, hash, row }] of keyed.entries()) {
    const append = appends[at] as TurnAppend;
    expected = append.expectedHead ?? expected;
    // The same key may stand in the batch twice.
    const known = row ?? findSame(draft, { key, first: draft.keys.get(hash) }, [append])?.[0];
    if (known === undefined) {
      const condition = expected === undefined ? {} : { expectedHead: expected };
      planTurn(draft, { ...append, ...condition }, report, { idempotency: hash, flags: 0 });
      expected = undefined;
    }
    answer.push(known ?? (report.turns.at(-1) as TurnRow));
  }
  report.answerTurns(answer);
}

function planTurn(draft: Draft, append: TurnAppend, report: Report, part: KeyPart): void {
  const head = resolveContext(draft, append.context, report);
  const { payload, size } = append;
  const { idempotency, flags } = part;
  const { row, jump, sideJump } = planPlace(draft, head, append, { payload, size, flags });
  draft.assertBlob(payload);
  giveRoot(draft, row.id, append.fsRoot, report);
  draft.turns.set(Number(row.id), { row, jump, sideJump, idempotency });
  if (idempotency !== undefined) draft.keys.set(idempotency, Number(row.id));
  moveHead(draft, head, row, report);
  report.turns.push(row);
  report.changed = true;
}

/** Stores the file-system root of a new turn, if it has one. */
export function giveRoot(draft: Draft, turn: TurnId, root: Hash | undefined, report: Report): void {
  if (root === undefined) return;
  addFsRoot(draft, { turn, root }, report);
  draft.givenRoots.set(Number(turn), root);
}

/** Makes a sealed turn the head of its context. */
export function moveHead(draft: Draft, head: HeadRecord, row: TurnRow, report: Report): void {
  const moved: HeadRecord = {
    id: head.id,
    head: row.id,
    headDepth: row.depth,
    base: head.base,
    openTurn: NO_TURN,
    openBytes: 0,
    createdAt: head.createdAt,
    updatedAt: draft.nowMs,
    removed: head.removed,
  };
  draft.heads.set(Number(head.id), moved);
  report.moved(moved);
}

/** Checks that a turn may be appended now, and gives it its id and its place. */
export function planPlace(
  draft: Draft,
  head: HeadRecord,
  turn: TurnOpen,
  content: Pick<TurnRow, 'payload' | 'size' | 'flags'>,
): PlacedTurn {
  assertNoOpenTurn(head);
  assertExpectedHead(head, turn.expectedHead);
  const parentId = turn.parent ?? head.head;
  const parent = parentId === NO_TURN ? undefined : mustGetSealed(draft, parentId);
  const { type, version, encoding } = turn;
  declareType(draft, { type, version });
  const id = BigInt(draft.counters.nextTurn) as TurnId;
  draft.counters.nextTurn += 1;
  const row: TurnRow = {
    id,
    parent: parentId,
    context: head.id,
    depth: parent === undefined ? 0 : parent.row.depth + 1,
    type,
    version,
    encoding,
    payload: content.payload,
    size: content.size,
    flags:
      content.flags |
      (turn.parent === undefined ? 0 : TurnFlag.PARENT_GIVEN) |
      (turn.fsRoot === undefined ? 0 : TurnFlag.FS_ROOT),
    createdAt: draft.nowMs,
  };
  return { row, jump: planJump(draft, parent), sideJump: parent?.jump ?? 0 };
}

export function declareType(draft: Draft, type: DeclaredType): void {
  const { tag, declared } = draft.view.tagOf(type);
  if (!declared) draft.types.set(tag, type);
}

/** The parent's jump's jump, or the parent: one more record read at most, whatever the depth. */
export function planJump(draft: Draft, parent: StoredTurn | undefined): number {
  if (parent === undefined) return 0;
  if (parent.jump === 0 || !jumpsToGrandJump(parent.row.depth)) return Number(parent.row.id);
  return mustGetSealed(draft, BigInt(parent.jump) as TurnId).jump;
}

/**
 * The hash that the first turn of the batch carries, and the turns if the key has made them already. Throws when the key
 * was seen before with other turns.
 */
export function findFirst(
  draft: Draft,
  key: Idempotency,
  appends: readonly TurnAppend[],
): { readonly hash: KeyHash; readonly turns: readonly TurnRow[] | undefined } {
  if (appends.length === 0)
    throw invalid('idempotency', 'needs a turn: a batch without turns takes no key');
  if (appends.some((append) => append.context !== key.context)) {
    throw invalid('idempotency', 'covers one context, but a turn of the batch goes to another');
  }
  const resolved = resolveKey(draft, key);
  return { hash: resolved.hash, turns: findSame(draft, resolved, appends) };
}

/** A turn with a key of its own, and the turn that this key has made already. */
interface KeyedTurn {
  readonly key: Idempotency;
  readonly hash: KeyHash;
  readonly row: TurnRow | undefined;
}

/** Undefined when the turns have no keys of their own. Throws when a key was seen before with another turn. */
export function findKeyed(
  draft: Draft,
  { turns = [], idempotency }: Pick<Batch, 'turns' | 'idempotency'>,
): readonly KeyedTurn[] | undefined {
  if (turns.every(({ key }) => key === undefined)) return undefined;
  if (idempotency !== undefined)
    throw invalid('key', 'of a turn cannot stand in a batch that has a key; give one of the two');
  const keys = turns.map(({ context, key }): Idempotency => {
    if (key === undefined) throw invalid('key', 'is needed for every turn of a batch, or for none');
    if (typeof context === 'bigint') return { context, key };
    throw invalid('key', 'needs a context that exists already');
  });
  const hashes = keys.map(({ context, key }) => idempotencyHash(context, key));
  const firsts = hashes.flatMap((hash) => draft.view.findKey(hash) ?? []);
  draft.needTurns(firsts.flatMap((first) => [first, first + 1]));
  return keys.map((key, at) => {
    const resolved = resolveKey(draft, key);
    const [row] = findSame(draft, resolved, [turns[at] as TurnAppend]) ?? [];
    return { key, hash: resolved.hash, row };
  });
}

/** A key with the hash that it has now, and the first turn that it made. */
interface ResolvedKey {
  readonly key: Idempotency;
  readonly hash: KeyHash;
  readonly first: number | undefined;
}

/** The turns that the key has made. Throws when they are not the turns of `appends`. */
function findSame(
  draft: Draft,
  { key, first }: Omit<ResolvedKey, 'hash'>,
  appends: readonly TurnAppend[],
): readonly TurnRow[] | undefined {
  if (first === undefined) return undefined;
  const turns = readBatchFrom(draft, first);
  const same =
    turns.length === appends.length && turns.every((row, at) => isSame(row, appends[at]));
  if (same && haveRoots(draft, turns, appends)) return turns;
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(key.key)} stands for other turns, from turn ${first} on; use a new key for new content`,
    { context: String(key.context), key: key.key, turn: String(first) },
  );
}

/** A key lives as long as its turn. Once the turn was collected, the key begins a new life. */
function resolveKey(draft: Draft, key: Idempotency): ResolvedKey {
  for (let life = 0; ; life += 1) {
    const hash = idempotencyHash(key.context, key.key, life);
    const first = draft.keys.get(hash) ?? draft.view.findKey(hash);
    if (first === undefined || !draft.isGone(first)) return { key, hash, first };
  }
}

/** The turns of a batch have consecutive ids, and all turns but the first carry the flag CONTINUES. */
function readBatchFrom(draft: Draft, first: number): TurnRow[] {
  const rows: TurnRow[] = [];
  for (let id = first; ; id += 1) {
    const known = id < draft.counters.nextTurn;
    const row = known ? draft.getSealedTurn(BigInt(id) as TurnRow['id'])?.row : undefined;
    if (row === undefined) return rows;
    if (id > first && (row.flags & TurnFlag.CONTINUES) === 0) return rows;
    rows.push(row);
  }
}

/** True when the turns were appended with the file-system roots of `appends`. Roots attached later do not count. */
function haveRoots(
  draft: Draft,
  turns: readonly TurnRow[],
  appends: readonly TurnAppend[],
): boolean {
  for (const [at, { id, flags }] of turns.entries()) {
    const turn = Number(id);
    const given =
      (flags & TurnFlag.FS_ROOT) === 0
        ? undefined
        : (draft.givenRoots.get(turn) ?? draft.firstFsRoot(turn));
    if (given !== appends[at]?.fsRoot) return false;
  }
  return true;
}

function isSame(row: TurnRow, append: TurnAppend | undefined): boolean {
  const given = (row.flags & TurnFlag.PARENT_GIVEN) !== 0;
  return (
    append !== undefined &&
    row.type === append.type &&
    row.version === append.version &&
    row.encoding === append.encoding &&
    row.payload === append.payload &&
    row.size === append.size &&
    append.parent === (given ? row.parent : undefined)
  );
}

export function planBlobs(draft: Draft, ready: ReadyBlobs, report: Report): void {
  for (const blob of ready.blobs) planBlob(draft, blob, report);
  for (const hash of ready.relies) draft.view.relyOnBlob(hash);
  for (const extent of ready.extents) {
    // Chunks count even when the list is there: a collection may have taken some of them.
    if (extent.chunks.length === 0) continue;
    draft.extents.push(extent);
    report.changed = true;
  }
}

function planBlob(draft: Draft, blob: PreparedBlob, report: Report): void {
  if (!draft.hasBlob(blob.hash)) {
    draft.blobs.set(blob.hash, blob);
    report.changed = true;
  }
  if (blob.sha256 === undefined || draft.findSha256(blob.sha256) !== undefined) return;
  draft.sha256.set(blob.sha256, blob.hash);
  report.changed = true;
}

export function planPatch(draft: Draft, patch: PatchAppend, report: Report): void {
  if (draft.getOpen(patch.turn) !== undefined) {
    throw invalid('patch', `names turn ${patch.turn}, which is still open`);
  }
  const { turn, tombstone, encoding, payload, size, expectedSeq } = patch;
  mustGetSealed(draft, turn);
  draft.assertBlob(payload);
  const number = Number(turn);
  const newest = draft.newestPatch(number);
  if (expectedSeq !== undefined && expectedSeq !== newest) {
    throw new QuipuError(
      'HEAD_MOVED',
      `the newest patch on turn ${turn} is ${newest}, not ${expectedSeq}; read it and try again`,
      { context: String(turn), expected: String(expectedSeq), head: String(newest) },
    );
  }
  const { nowMs: createdAt } = draft;
  const seq = draft.counters.nextPatch;
  const row: PatchRow = { seq, turn, tombstone, encoding, payload, size, createdAt };
  draft.counters.nextPatch += 1;
  draft.patches.set(seq, { ...row, fsRoot: false });
  draft.newestPatches.set(number, seq);
  report.patches.push(row);
  report.changed = true;
}

export function planFsRoot(draft: Draft, attach: FsRootAttach, report: Report): void {
  if (draft.getOpen(attach.turn) === undefined) mustGetSealed(draft, attach.turn);
  addFsRoot(draft, attach, report);
}

/** Trusts that the turn exists. */
function addFsRoot(draft: Draft, { turn, root }: FsRootAttach, report: Report): void {
  if (!draft.hasBlob(root)) {
    const message = `there is no fs root tree blob ${root}; put it first`;
    throw notFound('fs root tree blob', root, message);
  }
  const { nowMs: createdAt } = draft;
  const seq = draft.counters.nextPatch;
  draft.counters.nextPatch += 1;
  draft.patches.set(seq, { ...rootPatch(turn, root), seq, createdAt });
  report.fsRoots.push({ turn, root, seq });
  report.changed = true;
}

/** A file-system root is kept as a patch. */
export function rootPatch(turn: TurnId, payload: Hash): Omit<PatchRecord, 'seq' | 'createdAt'> {
  return { turn, payload, tombstone: false, fsRoot: true, encoding: 0, size: 0 };
}
