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
  const { key, ...placement } = plan;
  const blobs = new Map<Hash, BlobPut>();
  for (const { payload } of turns) {
    blobs.set(payload.hash, { hash: payload.hash, bytes: payload.bytes });
  }
  return {
    ...(key !== undefined && { idempotency: { context, key } }),
    blobs: [...blobs.values()],
    turns: turns.map(({ type, version, fsRoot, payload }, index): TurnAppend => ({
      context,
      ...(index === 0 && placement),
      type,
      version,
      encoding: payload.encoding,
      payload: payload.hash,
      size: payload.bytes.length,
      ...(fsRoot !== undefined && { fsRoot }),
    })),
  };
}
