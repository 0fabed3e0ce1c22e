import { NO_TURN } from '../../base/brand.ts';
import type { Hash, KeyHash, TurnId } from '../../base/brand.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import { idempotencyHash } from '../../format/idempotency.ts';
import { TurnFlag, jumpsToGrandJump } from '../../format/turn-record.ts';
import type { DeclaredType } from '../../format/type-line.ts';
import type { Idempotency, TurnAppend, TurnOpen } from '../batch.ts';
import type { TurnRow } from '../rows.ts';
import type { Draft, StoredTurn } from './draft.ts';
import { mustGetSealed, resolveContext } from './plan-contexts.ts';
import { addFsRoot } from './plan-patches.ts';
import type { Report } from './report.ts';

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
): { row: TurnRow; jump: number; sideJump: number } {
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

export function assertNoOpenTurn({ id, openTurn }: HeadRecord): void {
  if (openTurn === NO_TURN) return;
  throw new QuipuError(
    'LOCKED',
    `turn ${openTurn} is open in context ${id}; seal or abort it first`,
    {
      what: 'context',
      owner: String(openTurn),
    },
  );
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

export function assertExpectedHead(head: HeadRecord, expected: TurnId | undefined): void {
  if (expected === undefined || expected === head.head) return;
  throw new QuipuError(
    'HEAD_MOVED',
    `the head of context ${head.id} is turn ${head.head}, not ${expected}; read what is new and try again`,
    { context: String(head.id), expected: String(expected), head: String(head.head) },
  );
}

/** The meaning of a key: turns that are there already, or the hash that its first turn will carry. */
type First =
  | { readonly turns: readonly TurnRow[]; readonly hash?: undefined }
  | { readonly turns?: undefined; readonly hash: KeyHash };

/** Throws when the key was seen before with other turns. */
export function findFirst(draft: Draft, key: Idempotency, appends: readonly TurnAppend[]): First {
  if (appends.length === 0) throw invalid('idempotency', 'needs a turn to stand for');
  if (appends.some((append) => append.context !== key.context)) {
    throw invalid('idempotency', 'is for one context, and a turn of the batch goes to another');
  }
  const { hash, first } = resolveKey(draft, key);
  if (first === undefined) return { hash };
  const turns = readBatchFrom(draft, first);
  const same =
    turns.length === appends.length && turns.every((row, at) => isSame(row, appends[at]));
  if (same && haveRoots(draft, turns, appends)) return { turns };
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(key.key)} stands for other turns, from turn ${first} on; use a new key for new content`,
    { context: String(key.context), key: key.key, turn: String(first) },
  );
}

/** A key lives as long as its turn. Once the turn was collected, the key begins a new life. */
function resolveKey(
  draft: Draft,
  { context, key }: Idempotency,
): { hash: KeyHash; first: number | undefined } {
  for (let life = 0; ; life += 1) {
    const hash = idempotencyHash(context, key, life);
    const first = draft.keys.get(hash) ?? draft.view.findKey(hash);
    if (first === undefined || !draft.isGone(first)) return { hash, first };
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
