import type { Hash, TurnId } from '../../base/brand.ts';
import type { PatchRow, TurnRow } from '../../engine/rows.ts';
import { NO_HASH } from '../../format/patch-record.ts';
import type { CheckedRead } from '../check-input.ts';

/** A turn as a read shows it. */
export interface TurnView {
  readonly row: TurnRow;
  readonly encoding: number;
  /**
   * Undefined while the turn is open, and when it was erased. For any other tombstone, the hash of the hidden payload.
   */
  readonly payload: Hash | undefined;
  readonly size: number;
  /** The patch in force. */
  readonly patch: PatchRow | undefined;
}

/** Returns the views of `rows`, given all patches on them by rising sequence number. */
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
  const { encoding, size } = row;
  const payload = shown(row.payload);
  if (patch === undefined) return { row, encoding, payload, size, patch };
  if (patch.tombstone) return { row, encoding, payload, size: 0, patch };
  return { row, encoding: patch.encoding, payload: shown(patch.payload), size: patch.size, patch };
}

/** An engine gives no hash of erased bytes. */
function shown(payload: Hash | undefined): Hash | undefined {
  return payload === NO_HASH ? undefined : payload;
}

/** Returns the view of a turn whose bytes are gone, as the tombstone says. */
export function viewErased(row: TurnRow, tombstone: PatchRow | undefined): TurnView {
  return { ...viewTurn(row, tombstone), payload: undefined };
}
