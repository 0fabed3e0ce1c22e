import type { Hash, TurnId } from '../base/brand.ts';
import { hashBytes } from '../base/hash.ts';
import { encodeUtf8 } from '../base/text.ts';
import type { Batch, PatchAppend } from '../engine/batch.ts';
import { ERASURES_LOG } from '../engine/names.ts';
import type { PatchRow } from '../engine/rows.ts';
import { Encoding } from '../format/turn-record.ts';
import { NO_HASH } from '../format/patch-record.ts';

export interface Erasure {
  readonly hashes: readonly Hash[];
  readonly reason: string;
  /** Unix time in milliseconds. */
  readonly atMs: number;
}

/** The patches of every turn, oldest first. */
export type PatchesOf = ReadonlyMap<TurnId, readonly PatchRow[]>;

/**
 * Trusts its input. Each turn gets a tombstone with the reason. If a patch that stays is in force on a turn, that patch
 * is laid over the tombstone again: the turn did not show the erased bytes.
 */
export function planTombstones(turns: PatchesOf, erasure: Erasure): Batch {
  const bytes = encodeUtf8(erasure.reason);
  const blob = { hash: hashBytes(bytes), bytes };
  const patches = [...turns].flatMap(([turn, rows]): PatchAppend[] => {
    const tombstone = {
      turn,
      tombstone: true,
      encoding: Encoding.text,
      payload: blob.hash,
      size: bytes.length,
    };
    const shown = rows.at(-1);
    if (shown === undefined || shown.tombstone || shown.payload === NO_HASH) return [tombstone];
    if (erasure.hashes.includes(shown.payload)) return [tombstone];
    const { encoding, payload, size } = shown;
    return [tombstone, { turn, tombstone: false, encoding, payload, size }];
  });
  return { blobs: [blob], patches };
}

/**
 * The record of erased blobs that no turn tells of. It has no hash, which would let anyone check a guess of the erased
 * bytes.
 */
export function planErasureLines({ hashes, reason, atMs }: Erasure): Batch {
  const lines = hashes.map(() => JSON.stringify({ reason, erasedAt: atMs }));
  return { logs: [{ do: 'append', name: ERASURES_LOG, lines }] };
}
