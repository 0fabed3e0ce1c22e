import type { Hash, TurnId } from '../base/brand.ts';
import { hashBytes } from '../base/hash.ts';
import { encodeUtf8 } from '../base/utf8.ts';
import type { Batch, PatchAppend } from '../engine/batch.ts';
import { ERASURES_LOG } from '../engine/names.ts';
import type { PatchRow } from '../engine/rows.ts';
import { Encoding } from '../format/encoding.ts';
import { NO_HASH } from '../format/patch-record.ts';

export interface Erasure {
  readonly hashes: readonly Hash[];
  readonly reason: string;
  /** Unix time in milliseconds. */
  readonly atMs: number;
}

/** For every turn its patches, oldest first. */
export type PatchesOf = ReadonlyMap<TurnId, readonly PatchRow[]>;

/**
 * Trusts its input. Each turn gets a tombstone with the reason. A turn in which a patch that stays is
 * in force gets that patch laid over the tombstone again: what is erased was not what it showed.
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

/** What remains of erased blobs that no turn tells of. No hash: it would let anyone check a guess of what was there. */
export function planErasureLines({ hashes, reason, atMs }: Erasure): Batch {
  const lines = hashes.map(() => JSON.stringify({ reason, erasedAt: atMs }));
  return { logs: [{ do: 'append', name: ERASURES_LOG, lines }] };
}
