import type { Hash, TurnId } from '../base/brand.ts';
import type { LoadedPage, LoadedTurn, ReadPage } from '../context/turns/loaded-page.ts';
import type { TurnView } from '../context/turn.ts';
import type { PatchRow, TurnRow } from '../engine/rows.ts';
import type { StoreElsewhere } from '../store/store.ts';
import { unpackTurns } from '../wire/packed-turns.ts';
import type { PackedOverlay, PackedPage } from '../wire/packed-turns.ts';
import type { RemoteEngine } from './remote-engine.ts';

/** The verbs that a store over this engine leaves to the server. */
export function remoteVerbs(engine: RemoteEngine): StoreElsewhere {
  const readPage: ReadPage = async (request, read) => {
    const page = await engine.call<PackedPage>('contexts.page', [request, read]);
    return unpackPage(page, (hash) => engine.getBlob(hash));
  };
  return {
    readPage,
    gc: ({ progress, ...options } = {}) => engine.work('maintain.gc', [options], progress),
    retain: (policy, { dryRun }) => engine.work('maintain.retain', [policy, dryRun]),
    eraseTurn: (turn, options) => engine.work('contexts.erase', [turn, options]),
    eraseBlob: (ref, options) => engine.work('blobs.erase', [ref, options]),
    search: (query, { progress, ...options } = {}) =>
      engine.work('store.search', [query, options], progress),
  };
}

type FetchBlob = (hash: Hash) => Promise<Uint8Array | undefined>;

/** `fetchBlob` gets the payloads that were too large for the page. */
async function unpackPage(page: PackedPage, fetchBlob: FetchBlob): Promise<LoadedPage> {
  const overlays = new Map(page.overlays.map((overlay) => [overlay.index, overlay]));
  const reasons = new Map(page.reasons);
  const turns: LoadedTurn[] = [];
  const apart: number[] = [];
  unpackTurns(page.turns, (row, payload) => {
    const index = turns.length;
    const view = unpackView(toTurnRow(row), overlays.get(index));
    if (payload === null) apart.push(index);
    turns.push({ view, bytes: payload ?? undefined, reason: reasons.get(index) });
  });
  for (const index of apart) turns[index] = await fetchTurn(turns[index] as LoadedTurn, fetchBlob);
  const { cursor, nextDepth, headDepth } = page;
  return { turns, headDepth, unshared: true, cursor: cursor as TurnId | undefined, nextDepth };
}

/** Does not compile when a row lacks a field of a turn. Only the types of ids differ. */
function toTurnRow(row: { readonly [Name in keyof TurnRow]: unknown }): TurnRow {
  return row as TurnRow;
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
