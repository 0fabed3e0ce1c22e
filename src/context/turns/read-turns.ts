import { NO_TURN, type ContextId, type Hash, type TurnId } from '../../base/brand.ts';
import { QuipuError, isQuipuError, notFound, corrupt, type ErrorData } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { FsRootRow, HeadRow, PatchRow, TurnRow } from '../../engine/rows.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import type { CheckedRead } from '../check-input.ts';
import { readTurnNote, turnNoteName } from '../streams/plan-seal.ts';
import { toTurns, type LoadedTurn } from './loaded-page.ts';
import { applyPatches, viewErased, viewTurn, type Turn, type TurnView } from '../turn.ts';

/** Payloads being fetched, each asked for once. */
type Fetched = Map<Hash, Promise<Uint8Array | undefined>>;

/** Returns a payload that is in memory. */
type Peek = (hash: Hash) => Uint8Array | undefined;

export async function mustGetHead(engine: Engine, id: ContextId): Promise<HeadRow> {
  const head = await engine.getHead(id);
  if (head !== undefined) return head;
  throw noContext(id);
}

export function noContext(id: ContextId): QuipuError<'NOT_FOUND'> {
  return notFound('context', String(id));
}

export async function mustGetTurn(engine: Engine, id: TurnId): Promise<TurnRow> {
  const row = await engine.getTurn(id);
  if (row !== undefined) return row;
  throw notFound('turn', String(id));
}

/** For operations that need a turn that can no longer change. */
export async function mustGetSealed(engine: Engine, id: TurnId): Promise<TurnRow> {
  const row = await mustGetTurn(engine, id);
  if (!isOpen(row)) return row;
  throw new QuipuError('INVALID', `turn ${id} is still open; seal it first`, { what: 'turn' });
}

export function isOpen(row: TurnRow): boolean {
  return (row.flags & TurnFlag.OPEN) !== 0;
}

/** Returns `limit` turns up to `from`, older first. */
export async function walkUpTo(engine: Engine, from: TurnId, limit: number): Promise<TurnRow[]> {
  if (from === NO_TURN || limit === 0) return [];
  return (await engine.walkBack(from, limit)).toReversed();
}

/** Returns the turns from depth `from` to depth `to` (both included) on the way to `tip`, older first. */
export async function walkDepths(
  engine: Engine,
  tip: TurnId,
  from: number,
  to: number,
): Promise<TurnRow[]> {
  const newest = await engine.ancestorAt(tip, to);
  const rows = await walkUpTo(engine, newest?.id ?? NO_TURN, to - from + 1);
  if (rows.length === to - from + 1) return rows;
  throw corrupt('turns', `turn ${tip} has no ancestors at depths ${from} to ${to}`);
}

/** Returns the views of sealed turns, with payloads not yet fetched. */
export async function viewTurns(
  engine: Engine,
  rows: readonly TurnRow[],
  as: CheckedRead['as'],
): Promise<TurnView[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  // Both are asked together: a remote engine answers both at once.
  const [fsRoots, patches] = await Promise.all([engine.getFsRoots(ids), engine.getPatches(ids)]);
  return toViews({ turns: rows, fsRoots, patches }, as);
}

/** Like `viewTurns`, with all overlays of the turns in memory. */
export function toViews({ turns, fsRoots, patches }: TurnsRead, as: CheckedRead['as']): TurnView[] {
  const views = applyPatches(flagRoots(turns, fsRoots), patches, as);
  const tombstones = new Map(
    patches.flatMap((patch) => (patch.tombstone ? [[patch.turn, patch]] : [])),
  );
  if (tombstones.size === 0) return views;
  // Only a turn with a tombstone can have been erased.
  return views.map((view) => {
    const tombstone = view.payload === undefined ? tombstones.get(view.row.id) : undefined;
    return tombstone === undefined ? view : viewErased(view.row, tombstone);
  });
}

/** Turns, older first, and all their overlays. */
interface TurnsRead {
  readonly turns: readonly TurnRow[];
  readonly fsRoots: readonly FsRootRow[];
  readonly patches: readonly PatchRow[];
}

/** A record tells whether its turn came with a file-system root; a root may have been attached since. */
function flagRoots(rows: readonly TurnRow[], roots: readonly FsRootRow[]): readonly TurnRow[] {
  if (roots.length === 0) return rows;
  const rooted = new Set(roots.map(({ turn }) => turn));
  return rows.map((row) =>
    rooted.has(row.id) ? { ...row, flags: row.flags | TurnFlag.FS_ROOT } : row,
  );
}

/** Loads the turns with their payloads, each distinct payload fetched once. */
export async function loadTurns(
  engine: Engine,
  views: readonly TurnView[],
  payload: CheckedRead['payload'],
  peek: Peek = (hash) => engine.peekBlob?.(hash),
): Promise<LoadedTurn[]> {
  if (payload === false) return views.map(withoutPayload);
  // Waiting for 64 payloads that are all in memory took longer than finding them.
  const atHand = views.map((view) =>
    isWanted(payload, view.size) ? loadAtHand(peek, view) : withoutPayload(view),
  );
  if (atHand.every((turn) => turn !== undefined)) return atHand;
  const fetched: Fetched = new Map();
  const load = async (view: TurnView): Promise<LoadedTurn> =>
    loadTurn(engine, view, await fetchPayload(engine, view, fetched));
  return Promise.all(views.map(async (view, i) => atHand[i] ?? load(view)));
}

function isWanted(payload: CheckedRead['payload'], size: number): boolean {
  return typeof payload === 'number' ? size <= payload : payload;
}

/** Most turns of a page are unchanged since they were appended, and were read lately. */
function loadAtHand(peek: Peek, view: TurnView): LoadedTurn | undefined {
  const { row, patch, payload } = view;
  if (patch !== undefined || payload === undefined || (row.flags & TurnFlag.ABORTED) !== 0) {
    return undefined;
  }
  const bytes = peek(payload);
  return bytes && { view, bytes, reason: undefined };
}

/** Returns undefined when there is no payload to show: a tombstone, or a payload that is not there. */
async function fetchPayload(
  engine: Engine,
  { row, patch, payload }: TurnView,
  fetched: Fetched,
): Promise<Uint8Array | undefined> {
  if (patch?.tombstone === true || payload === undefined) return undefined;
  const known = fetched.get(payload);
  if (known !== undefined) return known;
  const bytes = fetchBlob(engine, row.id, payload);
  fetched.set(payload, bytes);
  return bytes;
}

/** Returns a turn as it is now; undefined when there is none. An open turn shows the bytes so far. */
export async function readTurn(
  engine: Engine,
  id: TurnId,
  read: CheckedRead,
): Promise<Turn | undefined> {
  const row = await engine.getTurn(id);
  if (row === undefined) return undefined;
  const open = isOpen(row) ? await engine.getOpenTurn(id) : undefined;
  if (open !== undefined) {
    const [flagged = open.row] = flagRoots([open.row], await engine.getFsRoots([id]));
    const view = { ...viewTurn(flagged, undefined), size: open.bytes.length };
    const shown = isWanted(read.payload, view.size) ? open.bytes : undefined;
    return toTurns([{ view, bytes: shown, reason: undefined }])[0];
  }
  // A turn that was open a moment ago was sealed between the two reads.
  const sealed = isOpen(row) ? await mustGetTurn(engine, id) : row;
  const views = await viewTurns(engine, [sealed], read.as);
  return toTurns(await loadTurns(engine, views, read.payload))[0];
}

async function loadTurn(
  engine: Engine,
  view: TurnView,
  bytes: Uint8Array | undefined,
): Promise<LoadedTurn> {
  const { row, patch } = view;
  if (patch?.tombstone === true) {
    const reason = await fetchBlob(engine, row.id, patch.payload);
    if (reason === undefined) return loadErased(engine, view, patch.payload);
    return { view, bytes: undefined, reason: Buffer.from(reason).toString('utf8') };
  }
  if (bytes === undefined) return loadErased(engine, view, view.payload);
  const isAborted = (row.flags & TurnFlag.ABORTED) !== 0;
  return { view, bytes, reason: isAborted ? await readReason(engine, row.id) : undefined };
}

function withoutPayload(view: TurnView): LoadedTurn {
  return { view, bytes: undefined, reason: undefined };
}

async function readReason(engine: Engine, id: TurnId): Promise<string | undefined> {
  const note = await engine.getDoc(turnNoteName(id));
  return note && readTurnNote(note.name, note.content);
}

/**
 * Bytes may be gone in two cases only. A later tombstone says so, and is then shown instead. Or the whole turn is gone,
 * because nothing led to it any more.
 */
async function loadErased(
  engine: Engine,
  { row }: TurnView,
  gone: Hash | undefined,
): Promise<LoadedTurn> {
  const tombstones = (await engine.getPatches([row.id])).filter(({ tombstone }) => tombstone);
  const newest = tombstones.at(-1);
  const bytes = newest && (await fetchBlob(engine, row.id, newest.payload));
  if (bytes !== undefined) {
    const reason = Buffer.from(bytes).toString('utf8');
    return { view: viewErased(row, newest), bytes: undefined, reason };
  }
  await mustGetTurn(engine, row.id);
  const name = gone === undefined ? '' : `(blob ${gone}) `;
  throw badPayload(row.id, `${name}is missing`, { file: 'blobs', offset: 0 });
}

/** Returns undefined when there is no such blob. An error about damage names the turn that it hits. */
async function fetchBlob(
  engine: Engine,
  turn: TurnId,
  hash: Hash,
): Promise<Uint8Array | undefined> {
  try {
    return await engine.viewBlob(hash);
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    throw badPayload(turn, `(blob ${hash}) is damaged`, error.data, error);
  }
}

/** A turn is never shown without the payload that it declares. */
function badPayload(
  turn: TurnId,
  problem: string,
  place: ErrorData['CORRUPT'],
  cause?: unknown,
): QuipuError<'CORRUPT'> {
  return new QuipuError('CORRUPT', `the payload of turn ${turn} ${problem}`, place, { cause });
}
