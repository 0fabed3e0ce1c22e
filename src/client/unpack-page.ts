import type { Hash, TurnId } from '../base/brand.ts';
import type { TurnView } from '../context/turns/turn.ts';
import type { LoadedPage, LoadedTurn } from '../context/turns/loaded-page.ts';
import type { PatchRow, TurnRow } from '../engine/rows.ts';
import { unpackTurns } from '../wire/packed-turns.ts';
import type { PackedOverlay, PackedPage } from '../wire/packed-turns.ts';

type FetchBlob = (hash: Hash) => Promise<Uint8Array | undefined>;

/** `fetchBlob` gets the payloads that were too large for the page. */
export async function unpackPage(page: PackedPage, fetchBlob: FetchBlob): Promise<LoadedPage> {
  const overlays = new Map(page.overlays.map((overlay) => [overlay.index, overlay]));
  const reasons = new Map(page.reasons);
  const turns: LoadedTurn[] = [];
  const apart: number[] = [];
  unpackTurns(page.turns, (row, payload) => {
    const index = turns.length;
    const view = unpackView(row as TurnRow, overlays.get(index));
    if (payload === null) apart.push(index);
    turns.push({ view, bytes: payload ?? undefined, reason: reasons.get(index) });
  });
  for (const index of apart) turns[index] = await fetchTurn(turns[index] as LoadedTurn, fetchBlob);
  const { cursor, nextDepth, headDepth } = page;
  return { turns, headDepth, unshared: true, cursor: cursor as TurnId | undefined, nextDepth };
}

async function fetchTurn(turn: LoadedTurn, fetchBlob: FetchBlob): Promise<LoadedTurn> {
  const { payload } = turn.view;
  return payload === undefined ? turn : { ...turn, bytes: await fetchBlob(payload) };
}

function unpackView(row: TurnRow, overlay: PackedOverlay | undefined): TurnView {
  if (overlay === undefined) {
    return { row, encoding: row.encoding, payload: row.payload, size: row.size, patch: undefined };
  }
  const { encoding, payload, size, patch } = overlay;
  return { row, encoding, payload: payload as Hash | undefined, size, patch: patch as PatchRow };
}
