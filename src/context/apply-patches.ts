import type { Hash, TurnId } from '../base/brand.ts';
import type { PatchRow, TurnRow } from '../engine/rows.ts';
import type { CheckedRead } from './check-input.ts';

/** A turn as a read shall show it. */
export interface TurnView {
  readonly row: TurnRow;
  readonly encoding: number;
  /** Undefined while the turn is open. For a tombstone the hash of what was there. */
  readonly payload: Hash | undefined;
  readonly size: number;
  /** The patch in force. */
  readonly patch: PatchRow | undefined;
}

/** The views of `rows`, given all patches on them by rising sequence number. */
export function applyPatches(
  rows: readonly TurnRow[],
  patches: readonly PatchRow[],
  as: CheckedRead['as'],
): TurnView[] {
  const inForce = new Map<TurnId, PatchRow>();
  for (const patch of patches) {
    if (as === 'latest' || (as !== 'original' && patch.seq <= as)) inForce.set(patch.turn, patch);
  }
  return rows.map((row) => viewTurn(row, inForce.get(row.id)));
}

/** The newest patch alone decides: a payload laid over a tombstone shows. */
export function viewTurn(row: TurnRow, patch: PatchRow | undefined): TurnView {
  if (patch === undefined) return { row, ...pick(row), patch };
  if (patch.tombstone) return { row, ...pick(row), size: 0, patch };
  return { row, ...pick(patch), patch };
}

function pick({
  encoding,
  payload,
  size,
}: Pick<TurnView, 'encoding' | 'payload' | 'size'>): Pick<
  TurnView,
  'encoding' | 'payload' | 'size'
> {
  return { encoding, payload, size };
}
