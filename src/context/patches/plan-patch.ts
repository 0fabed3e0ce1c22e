import type { TurnId } from '../../base/brand.ts';
import type { Batch } from '../../engine/batch.ts';
import type { EncodedPayload } from '../payloads/encode-payload.ts';

export interface PatchPlan {
  readonly tombstone: boolean;
  /** The new payload; for a tombstone the reason as text. */
  readonly payload: EncodedPayload;
  readonly expectedSeq?: number;
}

/** Trusts its input. The payload and the overlay that names it become true together. */
export function planPatch(turn: TurnId, plan: PatchPlan): Batch {
  const { payload, tombstone, expectedSeq } = plan;
  return {
    blobs: [{ hash: payload.hash, bytes: payload.bytes }],
    patches: [
      {
        turn,
        tombstone,
        encoding: payload.encoding,
        payload: payload.hash,
        size: payload.bytes.length,
        ...(expectedSeq !== undefined && { expectedSeq }),
      },
    ],
  };
}
