import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import { decodeUtf8 } from '../base/utf8.ts';
import type { TurnView } from '../context/apply-patches.ts';
import type { LoadedPage, LoadedTurn } from '../context/loaded-page.ts';
import type { PatchRow, TurnRow } from '../engine/rows.ts';
import type { PackedOverlay, PackedPage, PackedRow } from '../wire/packed-page.ts';

/** `fetchBlob` gets the payloads that were too large for the page. */
export async function unpackPage(
  page: PackedPage,
  fetchBlob: (hash: Hash) => Promise<Uint8Array | undefined>,
): Promise<LoadedPage> {
  const rows = JSON.parse(decodeUtf8(page.rows)) as PackedRow[];
  const overlays = new Map(page.overlays.map((overlay) => [overlay.index, overlay]));
  const reasons = new Map(page.reasons);
  const turns: LoadedTurn[] = [];
  for (const [index, row] of rows.entries()) {
    const view = unpackView(unpackRow(row), overlays.get(index));
    const packed = page.payloads[index];
    const isApart = packed === null && view.payload !== undefined;
    const bytes = isApart ? await fetchBlob(view.payload) : (packed ?? undefined);
    turns.push({ view, bytes, reason: reasons.get(index) });
  }
  const { cursor, nextDepth, headDepth } = page;
  return {
    turns,
    headDepth,
    unshared: true,
    ...(cursor !== undefined && { cursor: BigInt(cursor) as TurnId }),
    ...(nextDepth !== undefined && { nextDepth }),
  };
}

function unpackView(row: TurnRow, overlay: PackedOverlay | undefined): TurnView {
  if (overlay === undefined) {
    return { row, encoding: row.encoding, payload: row.payload, size: row.size, patch: undefined };
  }
  const { encoding, payload, size, patch } = overlay;
  return { row, encoding, payload: payload as Hash | undefined, size, patch: patch as PatchRow };
}

function unpackRow(packed: PackedRow): TurnRow {
  const [id, parent, context, depth, type, version, encoding, payload, size, flags, createdAt] =
    packed;
  return {
    id: BigInt(id) as TurnId,
    parent: BigInt(parent) as TurnId,
    context: BigInt(context) as ContextId,
    depth,
    type,
    version,
    encoding,
    payload: payload === null ? undefined : (payload as Hash),
    size,
    flags,
    createdAt,
  };
}
