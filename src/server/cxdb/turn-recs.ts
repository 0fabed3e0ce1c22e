import { corrupt, isQuipuError } from '../../base/errors.ts';
import { viewErased, viewTurn } from '../../context/turn.ts';
import type { TurnView } from '../../context/turn.ts';
import type { Engine, OpenTurnRow } from '../../engine/engine.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { WireTurnFlag } from '../../wire/cxdb/pages.ts';
import type { ExtRow, TurnRec } from '../../wire/cxdb/pages.ts';

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
