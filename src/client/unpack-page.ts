import type { Hash, TurnId } from '../base/brand.ts';
import type { TurnView } from '../context/apply-patches.ts';
import type { LoadedPage, LoadedTurn } from '../context/loaded-page.ts';
import type { PatchRow, TurnRow } from '../engine/rows.ts';
import { TURN_FIELDS } from '../wire/turn-fields.ts';
import type { PackedPage, PackedTurn } from '../wire/turn-fields.ts';

const IDS: ReadonlySet<string> = new Set(['id', 'parent', 'context']);

/** `fetchBlob` gets the payloads that were too large for the page. */
export async function unpackPage(
  page: PackedPage,
  fetchBlob: (hash: Hash) => Promise<Uint8Array | undefined>,
): Promise<LoadedPage> {
  const turns: LoadedTurn[] = [];
  for (const packed of page.turns) {
    const [, packedBytes, reason] = packed;
    const view = unpackView(packed);
    const isApart = packedBytes === null && view.payload !== undefined;
    const bytes = isApart ? await fetchBlob(view.payload) : (packedBytes ?? undefined);
    turns.push({ view, bytes, reason });
  }
  const { cursor, nextDepth, headDepth } = page;
  return {
    turns,
    headDepth,
    ...(cursor !== undefined && { cursor: BigInt(cursor) as TurnId }),
    ...(nextDepth !== undefined && { nextDepth }),
  };
}

function unpackView([fields, , , overlay]: PackedTurn): TurnView {
  const row = unpackRow(fields);
  if (overlay === undefined) {
    const { encoding, payload, size } = row;
    return { row, encoding, payload, size, patch: undefined };
  }
  const { encoding, payload, size, patch } = overlay;
  return { row, encoding, payload: payload as Hash | undefined, size, patch: patch as PatchRow };
}

function unpackRow(fields: readonly (string | number | undefined)[]): TurnRow {
  const row: Partial<Record<keyof TurnRow, unknown>> = {};
  for (const [index, name] of TURN_FIELDS.entries()) {
    const value = fields[index];
    row[name] = IDS.has(name) ? BigInt(value ?? 0) : value;
  }
  return row as unknown as TurnRow;
}
