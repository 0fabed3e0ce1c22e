import { NO_TURN, type Hash, type TurnId } from '../../base/brand.ts';
import { QuipuError, invalid, tooLarge, notFound } from '../../base/errors.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import type { Batch, TurnDelta, TurnOpen, TurnSeal } from '../batch.ts';
import type { TurnRow } from '../rows.ts';
import type { Draft, OpenDraft, OpenTurn } from './draft.ts';
import { planBlobs, giveRoot, moveHead, planPlace } from './plan-turns.ts';
import { resolveContext } from './plan-contexts.ts';
import type { Report } from './report.ts';

const OUTCOME_FLAG: Record<TurnSeal['outcome'], number> = {
  complete: 0,
  aborted: TurnFlag.ABORTED,
  interrupted: TurnFlag.INTERRUPTED,
};
const OUTCOMES = TurnFlag.OPEN | TurnFlag.ABORTED | TurnFlag.INTERRUPTED;
/** The text becomes a turn's payload, whose length is a u32. */
const OPEN_BYTES_MAX = 0xffff_ffff;

export function planOpen(draft: Draft, open: TurnOpen, report: Report): void {
  const head = resolveContext(draft, open.context, report);
  const empty = { payload: undefined, size: 0, flags: TurnFlag.OPEN };
  const { row, jump, sideJump } = planPlace(draft, head, open, empty);
  giveRoot(draft, row.id, open.fsRoot, report);
  const turn: OpenTurn = { row, jump, sideJump, deltas: 0 };
  draft.opens.set(Number(row.id), { turn, text: [], created: true, closed: false });
  const opened = { ...head, openTurn: row.id, openBytes: 0 };
  draft.heads.set(Number(head.id), opened);
  report.moved(opened);
  report.opened.push(row);
  report.changed = true;
}

export function planDelta(draft: Draft, delta: TurnDelta, report: Report): void {
  const open = draft.getOpen(delta.turn);
  if (open === undefined) {
    mustExist(draft, delta.turn);
    throw invalid('delta', `comes too late: turn ${delta.turn} has ended`);
  }
  const length = open.turn.row.size;
  const overlap = Math.min(length - delta.offset, delta.bytes.length);
  const continues = delta.offset >= 0 && delta.offset <= length;
  if (!continues || !repeats(draft, open, delta, overlap)) {
    throw invalid(
      'delta',
      `at ${delta.offset} does not continue turn ${delta.turn} of ${length} bytes`,
    );
  }
  const bytes = delta.bytes.subarray(overlap);
  if (bytes.length === 0) return;
  if (length + bytes.length > OPEN_BYTES_MAX) {
    throw tooLarge(
      'open turn',
      OPEN_BYTES_MAX,
      length + bytes.length,
      `turn ${delta.turn} cannot grow past ${OPEN_BYTES_MAX} bytes`,
    );
  }
  const row = { ...open.turn.row, size: length + bytes.length };
  const turn = { ...open.turn, row, deltas: open.turn.deltas + 1 };
  draft.opens.set(Number(row.id), { ...open, turn, text: [...open.text, bytes] });
  noteLength(draft, row);
  report.deltas.push({ turn: row.id, offset: length, bytes });
  report.changed = true;
}

/** True when the delta's first `overlap` bytes are there already: then the delta is a retry. */
function repeats(draft: Draft, open: OpenDraft, delta: TurnDelta, overlap: number): boolean {
  if (overlap <= 0) return true;
  const there = textOf(draft, open).subarray(delta.offset, delta.offset + overlap);
  return there.equals(delta.bytes.subarray(0, overlap));
}

/** All bytes of an open turn: those that it had when the group began, and those that the group adds. */
function textOf(draft: Draft, { turn, text }: OpenDraft): Buffer {
  const committed = draft.view.getOpenTurn(Number(turn.row.id));
  const stored = committed === undefined ? new Uint8Array() : draft.readOpenTurn(committed);
  return Buffer.concat([stored, ...text]);
}

/** The head slot keeps the length, so that a text that was cut short on disk is noticed. */
function noteLength(draft: Draft, row: TurnRow): void {
  const head = draft.getHead(row.context);
  if (head !== undefined) draft.heads.set(Number(head.id), { ...head, openBytes: row.size });
}

/**
 * True for a batch that makes the text of a turn its payload. The bytes that it brings are known when it is planned, so
 * a group takes one such batch.
 */
export function sealsText({ seals = [] }: Pick<Batch, 'seals'>): boolean {
  return seals.some(({ payload }) => payload === undefined);
}

export function planSeals(draft: Draft, seals: readonly TurnSeal[], report: Report): void {
  const bare = seals.filter(({ payload }) => payload === undefined);
  if (bare.length > 1)
    throw invalid('seals', `has ${bare.length} without a payload; send each alone`);
  for (const seal of seals) planSeal(draft, seal, report);
}

function planSeal(draft: Draft, seal: TurnSeal, report: Report): void {
  const open = draft.getOpen(seal.turn);
  if (open === undefined) {
    report.sealed.push(sameSeal(draft, seal));
    return;
  }
  assertLength(seal, open.turn.row.size);
  const { payload, size = open.turn.row.size } = seal;
  if (payload !== undefined) draft.assertBlob(payload);
  const flags = (open.turn.row.flags & ~OUTCOMES) | OUTCOME_FLAG[seal.outcome];
  const content = { payload: payload ?? storeText(draft, open, report), size };
  const row: TurnRow = { ...open.turn.row, ...content, flags };
  const { jump, sideJump } = open.turn;
  draft.turns.set(Number(row.id), { row, jump, sideJump, idempotency: undefined });
  draft.opens.set(Number(row.id), { ...open, closed: true });
  report.sealed.push(row);
  report.changed = true;
  const head = draft.getHead(row.context);
  if (head !== undefined && head.openTurn === row.id) moveHead(draft, head, row, report);
}

function storeText(draft: Draft, open: OpenDraft, report: Report): Hash {
  const { hash, ...ready } = draft.prepare(textOf(draft, open));
  planBlobs(draft, ready, report);
  return hash;
}

/** The caller of a seal has read the text. Bytes that arrived after that must not be lost. */
function assertLength({ turn, expectedBytes }: TurnSeal, length: number): void {
  if (expectedBytes === undefined || expectedBytes === length) return;
  throw new QuipuError('HEAD_MOVED', `turn ${turn} has grown to ${length} bytes`, {
    context: String(turn),
    expected: String(expectedBytes),
    head: String(length),
  });
}

/** A seal sent twice gets the same answer; another seal of a sealed turn is refused. */
function sameSeal(draft: Draft, seal: TurnSeal): TurnRow {
  const row = mustExist(draft, seal.turn);
  if (seal.payload === undefined) throw invalid('turn', `${seal.turn} is not open any more`);
  const flags = (row.flags & ~OUTCOMES) | OUTCOME_FLAG[seal.outcome];
  if (row.payload === seal.payload && row.flags === flags) return row;
  throw invalid('seal', `names turn ${seal.turn}, which is sealed already with other content`);
}

function mustExist(draft: Draft, id: TurnId): TurnRow {
  const turn = id === NO_TURN ? undefined : draft.getSealedTurn(id);
  if (turn !== undefined) return turn.row;
  throw notFound('turn', String(id));
}
