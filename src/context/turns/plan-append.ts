import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { Plain } from '../../base/plain.ts';
import type { Batch, BlobPut, TurnAppend } from '../../engine/batch.ts';
import type { EncodedPayload } from '../payloads/encode-payload.ts';

export interface TurnHeader {
  readonly type: string;
  readonly version: number;
  readonly fsRoot: Hash | undefined;
}

export class PreparedTurn {
  readonly type: string;
  readonly version: number;
  readonly fsRoot: Hash | undefined;
  readonly payload: EncodedPayload;

  constructor({ type, version, fsRoot }: TurnHeader, payload: EncodedPayload) {
    this.type = type;
    this.version = version;
    this.fsRoot = fsRoot;
    this.payload = payload;
  }
}

export interface AppendPlan {
  readonly parent?: TurnId | undefined;
  readonly expectedHead?: TurnId | undefined;
  readonly key: string | undefined;
}

/**
 * Trusts its input. Makes one batch, so payloads, turns and head become true together or not at all. The first turn
 * goes where `plan` says, each later one onto the one before.
 */
export function planAppend(
  context: ContextId,
  turns: readonly PreparedTurn[],
  plan: AppendPlan,
): Batch {
  return new AppendBatch(context, turns, plan);
}

class AppendBatch extends Plain implements Batch {
  declare readonly idempotency?: { readonly context: ContextId; readonly key: string };
  readonly blobs: readonly BlobPut[];
  readonly turns: readonly TurnAppend[];

  constructor(context: ContextId, turns: readonly PreparedTurn[], plan: AppendPlan) {
    super();
    const { key } = plan;
    if (key !== undefined) this.idempotency = { context, key };
    this.blobs = toBlobs(turns);
    this.turns = turns.map((turn, index) => toAppend(context, turn, index === 0 ? plan : NOWHERE));
  }
}

class PayloadPut extends Plain implements BlobPut {
  readonly hash: Hash;
  readonly bytes: Uint8Array;

  constructor({ hash, bytes }: EncodedPayload) {
    super();
    this.hash = hash;
    this.bytes = bytes;
  }
}

/** Puts each payload once. */
function toBlobs(turns: readonly PreparedTurn[]): BlobPut[] {
  const puts = turns.map(({ payload }) => new PayloadPut(payload));
  return puts.length === 1 ? puts : [...new Map(puts.map((put) => [put.hash, put])).values()];
}

/** The turn goes onto the turn before it. */
const NOWHERE: Omit<AppendPlan, 'key'> = {};

/** Most turns have none of the optional fields, and objects of one shape are faster to read later. */
function toAppend(
  context: ContextId,
  { type, version, fsRoot, payload }: PreparedTurn,
  { parent, expectedHead }: Omit<AppendPlan, 'key'>,
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
