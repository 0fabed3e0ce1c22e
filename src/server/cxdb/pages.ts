import { NO_TURN } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import { notFound, corrupt, isQuipuError } from '../../base/errors.ts';
import { PAGE_TURNS_MAX } from '../../context/limits.ts';
import { keepNewest, keepOldest, leadsTo } from '../../context/turns/read-pages.ts';
import {
  isOpen,
  mustGetHead,
  mustGetTurn,
  viewTurns,
  walkDepths,
  walkUpTo,
} from '../../context/turns/read-turns.ts';
import type { Engine, OpenTurnRow } from '../../engine/engine.ts';
import type { HeadRow, TurnRow } from '../../engine/rows.ts';
import type { Parts } from '../../wire/byte-codec.ts';
import {
  EXT_ROW_BYTES,
  LAST_DEPTHS,
  TURN_REC_BYTES_MIN,
  decodeGetBefore,
  decodeGetLast,
  decodeGetRange,
  encodePage,
  WireTurnFlag,
} from '../../wire/cxdb/turns.ts';
import type { GetRange, PageOptions, ExtRow, TurnRec } from '../../wire/cxdb/turns.ts';
import { FRAME_PAYLOAD_MAX } from '../../wire/limits.ts';
import type { Job, Plan } from '../request/request.ts';
import { contextOf, turnOf } from '../request/take-input.ts';
import { viewErased, viewTurn } from '../../context/turn.ts';
import type { TurnView } from '../../context/turn.ts';
import { TurnFlag } from '../../format/turn-record.ts';

/** u32 count, the tail, and the size of EXT rows. */
const PAGE_FRAME_BYTES = 4 + 20 + 4;

const SEQ_MAX = BigInt(Number.MAX_SAFE_INTEGER);

export const getLast: Plan = (engine, { payload, flags }) => {
  const request = decodeGetLast(payload, flags);
  return reading(async () =>
    readEnd(engine, await chainOf(engine, request.context, request.wantOpen), request),
  );
};

export const getBefore: Plan = (engine, { payload, flags }) => {
  const request = decodeGetBefore(payload, flags);
  return reading(async () => {
    const [turn, { head, headDepth }] = await findIn(engine, request.context, request.before);
    return readEnd(engine, { ...parentOf(turn), open: undefined, head, headDepth }, request);
  });
};

export const getRange: Plan = (engine, { payload, flags }) => {
  const request = decodeGetRange(payload, flags);
  return reading(() => readRange(engine, request));
};

function reading(read: () => Promise<Parts>): Job {
  return { order: 'read', run: async () => ({ parts: await read() }) };
}

/** A chain of turns, whose last one may still be open, and the head that a page of it names. */
interface Chain {
  /** The last sealed turn; `NO_TURN` when there is none. */
  readonly tip: TurnId;
  readonly tipDepth: number;
  readonly open: OpenTurnRow | undefined;
  readonly head: TurnId;
  readonly headDepth: number;
}

async function readRange(engine: Engine, request: GetRange): Promise<Parts> {
  const { context, chainEnd, startDepth, wantOpen } = request;
  const chain =
    chainEnd === NO_TURN
      ? await chainOf(engine, context, wantOpen)
      : await chainUpTo(engine, (await findIn(engine, context, chainEnd))[0], wantOpen);
  if (startDepth === LAST_DEPTHS) return readEnd(engine, chain, request);

  const { tip, tipDepth, open } = chain;
  const sealed = tip === NO_TURN ? 0 : tipDepth + 1;
  const length = open === undefined ? sealed : open.row.depth + 1;
  const end = Math.min(length, startDepth + Math.min(request.limit, PAGE_TURNS_MAX));
  if (startDepth >= end) return toParts(chain, [], request);
  const sealedEnd = Math.min(end, open === undefined ? length : length - 1);
  const rows =
    startDepth < sealedEnd ? await walkDepths(engine, tip, startDepth, sealedEnd - 1) : [];
  const last = end > sealedEnd ? open : undefined;
  const turns = await load(engine, { rows, open: last, keep: keepOldest }, request);
  return toParts(chain, turns, request);
}

/** Reads the last turns of the chain. */
async function readEnd(engine: Engine, chain: Chain, request: PageOptions): Promise<Parts> {
  const limit = Math.min(request.limit, PAGE_TURNS_MAX);
  const open = limit > 0 ? chain.open : undefined;
  const rows = await walkUpTo(engine, chain.tip, open === undefined ? limit : limit - 1);
  const turns = await load(engine, { rows, open, keep: keepNewest }, request);
  return toParts(chain, turns, request);
}

function toParts(
  { head, headDepth }: Chain,
  turns: readonly SentTurn[],
  { wantExt }: PageOptions,
): Parts {
  const recs = turns.map(({ rec }) => rec);
  const [oldest] = recs;
  return encodePage({
    turns: recs,
    cursor: oldest === undefined || oldest.parent === 0n ? 0n : oldest.id,
    head,
    headDepth,
    ext: wantExt ? turns.map(({ ext }) => ext) : undefined,
  });
}

/** Finds the chain of a context, with its open turn if the client wants that. */
async function chainOf(engine: Engine, context: bigint, wantOpen: boolean): Promise<Chain> {
  const { head, headDepth, openTurn } = await mustGetHead(engine, contextOf(context));
  // If the turn was sealed after the head was read, the next read includes it.
  const open = wantOpen && openTurn !== NO_TURN ? await engine.getOpenTurn(openTurn) : undefined;
  return chainTo(head, headDepth, open);
}

async function chainUpTo(engine: Engine, turn: TurnRow, wantOpen: boolean): Promise<Chain> {
  if (isOpen(turn) && !wantOpen) throw notFound('turn', turn.id);
  const open = isOpen(turn) ? await engine.getOpenTurn(turn.id) : undefined;
  return chainTo(turn.id, turn.depth, open);
}

function chainTo(head: TurnId, headDepth: number, open: OpenTurnRow | undefined): Chain {
  const sealed = open === undefined ? { tip: head, tipDepth: headDepth } : parentOf(open.row);
  return { ...sealed, open, head, headDepth };
}

function parentOf(row: TurnRow): Pick<Chain, 'tip' | 'tipDepth'> {
  return { tip: row.parent, tipDepth: Math.max(0, row.depth - 1) };
}

/** Finds a turn on the chain of the context, or a turn that was appended to it. Context 0 stands for any. */
async function findIn(
  engine: Engine,
  context: bigint,
  id: bigint,
): Promise<[TurnRow, Pick<HeadRow, 'head' | 'headDepth'>]> {
  if (context === 0n)
    return [await mustGetTurn(engine, turnOf(id)), { head: NO_TURN, headDepth: 0 }];
  const head = await mustGetHead(engine, contextOf(context));
  const turn = await mustGetTurn(engine, turnOf(id));
  if (turn.context === head.id || (await leadsTo(engine, turn, head))) return [turn, head];
  throw notFound('turn', id);
}

interface Loading {
  readonly rows: readonly TurnRow[];
  readonly open: OpenTurnRow | undefined;
  readonly keep: typeof keepNewest;
}

async function load(
  engine: Engine,
  { rows, open, keep }: Loading,
  { payload, wantExt, asOf, maxBytes = FRAME_PAYLOAD_MAX }: PageOptions,
): Promise<SentTurn[]> {
  const views = await viewTurns(engine, rows, patchesUpTo(asOf));
  const recBytes = (type: string, size: number): number =>
    TURN_REC_BYTES_MIN +
    Buffer.byteLength(type) +
    (payload ? size : 0) +
    (wantExt ? EXT_ROW_BYTES : 0);
  const sized: { view?: TurnView; size: number }[] = views.map((view) => ({
    view,
    size: recBytes(view.row.type, view.size),
  }));
  if (open !== undefined) sized.push({ size: recBytes(open.row.type, open.bytes.length) });
  const fitting = keep(sized, Math.min(maxBytes, FRAME_PAYLOAD_MAX) - PAGE_FRAME_BYTES);
  const kept = fitting.map(({ view }) => view).filter((view) => view !== undefined);
  const turns = await toSentTurns(engine, kept, payload);
  if (!wantExt) for (const turn of turns) assertReadable(turn);
  if (open === undefined || kept.length === fitting.length) return turns;
  return [...turns, toSentOpenTurn(open, payload)];
}

/** A number higher than any patch can have asks for all patches. */
function patchesUpTo(asOf: bigint | undefined): 'latest' | 'original' | number {
  if (asOf === undefined || asOf > SEQ_MAX) return 'latest';
  return asOf === 0n ? 'original' : Number(asOf);
}

/** A turn as it is sent, with the parts that only some clients ask for. */
export interface SentTurn {
  readonly rec: TurnRec;
  readonly ext: ExtRow;
}

const NO_BYTES = new Uint8Array();
/** The other flags of a record are the engine's own, or depend on the patch in force. */
const STORED_FLAGS = TurnFlag.OPEN | TurnFlag.ABORTED | TurnFlag.INTERRUPTED | TurnFlag.FS_ROOT;

/**
 * Sealed turns as they are sent. A damaged payload is left out and marked, because the other payloads are still good.
 */
export async function toSentTurns(
  engine: Engine,
  views: readonly TurnView[],
  payload: boolean,
): Promise<SentTurn[]> {
  if (!payload) return views.map((view) => sentTurn(view, NO_BYTES));
  const atHand = views.map((view) => withPayloadAtHand(engine, view));
  if (atHand.every((turn) => turn !== undefined)) return atHand;
  return Promise.all(views.map(async (view, i) => atHand[i] ?? withPayload(engine, view)));
}

function withPayloadAtHand(engine: Engine, view: TurnView): SentTurn | undefined {
  if (view.patch?.tombstone === true || view.payload === undefined) return undefined;
  const bytes = engine.peekBlob?.(view.payload);
  return bytes && sentTurn(view, bytes);
}

export function toSentOpenTurn({ row, bytes }: OpenTurnRow, payload: boolean): SentTurn {
  const view = { ...viewTurn(row, undefined), size: bytes.length };
  return sentTurn(view, payload ? bytes : NO_BYTES);
}

/** Throws for a client that cannot be told which payload is missing. */
export function assertReadable({ rec, ext }: SentTurn): void {
  if ((ext.flags & WireTurnFlag.UNREADABLE) === 0) return;
  throw corrupt('blobs', `the payload of turn ${rec.id} cannot be read`);
}

async function withPayload(engine: Engine, view: TurnView): Promise<SentTurn> {
  if (view.patch?.tombstone === true || view.payload === undefined) {
    return sentTurn(view, NO_BYTES);
  }
  try {
    const bytes = await engine.viewBlob(view.payload);
    if (bytes !== undefined) return sentTurn(view, bytes);
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    return sentTurn(view, NO_BYTES, WireTurnFlag.UNREADABLE);
  }
  // The turn was erased: its tombstone is newer than the patches that the client asked for.
  const patches = await engine.getPatches([view.row.id]);
  const tombstone = patches.findLast((patch) => patch.tombstone);
  if (tombstone === undefined) return sentTurn(view, NO_BYTES, WireTurnFlag.UNREADABLE);
  return sentTurn(viewErased(view.row, tombstone), NO_BYTES);
}

function sentTurn(view: TurnView, payload: Uint8Array, alsoFlags = 0): SentTurn {
  const { row, patch, encoding, size } = view;
  const { id, parent, depth, type, version, createdAt } = row;
  const isTombstone = patch?.tombstone === true;
  const flags =
    (row.flags & STORED_FLAGS) |
    (patch === undefined ? 0 : TurnFlag.PATCHED) |
    (isTombstone ? TurnFlag.TOMBSTONE : 0);
  const hash = isTombstone ? undefined : view.payload;
  return {
    rec: { id, parent, depth, type, version, encoding, size, hash, payload },
    ext: { createdAt, flags: flags | alsoFlags, patchSeq: BigInt(patch?.seq ?? 0) },
  };
}
