import type { ContextId, Hash } from '../base/brand.ts';
import type { Batch, BlobPut, TurnAppend } from '../engine/batch.ts';
import type { Placement } from './check-input.ts';
import type { EncodedPayload } from './encode-payload.ts';

export interface PreparedTurn {
  readonly type: string;
  readonly version: number;
  readonly fsRoot?: Hash;
  readonly payload: EncodedPayload;
}

export interface AppendPlan extends Placement {
  readonly key: string | undefined;
}

/**
 * Trusts its input. One batch, so payloads, turns and head become true together or not at all. The
 * first turn goes where `plan` says, each later one onto the one before.
 */
export function planAppend(
  context: ContextId,
  turns: readonly PreparedTurn[],
  plan: AppendPlan,
): Batch {
  const { key } = plan;
  const blobs = new Map<Hash, BlobPut>();
  for (const { payload } of turns) {
    blobs.set(payload.hash, { hash: payload.hash, bytes: payload.bytes });
  }
  const batch = {
    blobs: [...blobs.values()],
    turns: turns.map((turn, index) => toAppend(context, turn, index === 0 ? plan : NOWHERE)),
  };
  return key === undefined ? batch : { idempotency: { context, key }, ...batch };
}

/** On the turn before it. */
const NOWHERE: Placement = {};

/** Most turns have none of the optional fields, and objects of one shape are what reads fast later. */
function toAppend(
  context: ContextId,
  { type, version, fsRoot, payload }: PreparedTurn,
  { parent, expectedHead }: Placement,
): TurnAppend {
  const { encoding, hash, bytes } = payload;
  const append = { context, type, version, encoding, payload: hash, size: bytes.length };
  if (parent === undefined && expectedHead === undefined && fsRoot === undefined) return append;
  return {
    ...append,
    ...(parent !== undefined && { parent }),
    ...(expectedHead !== undefined && { expectedHead }),
    ...(fsRoot !== undefined && { fsRoot }),
  };
}
