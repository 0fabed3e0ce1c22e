import { NO_TURN } from '../../../base/brand.ts';
import type { ContextId, TurnId } from '../../../base/brand.ts';
import { bytesToHash } from '../../../base/hash.ts';
import { bytesToKeyHash } from '../../../format/idempotency.ts';
import { NO_HASH } from '../../../format/patch-record.ts';
import type { StoredTurn } from '../../plan/draft.ts';
import type { TurnRow } from '../../rows.ts';

/** A row of `turns`. */
export interface TurnColumns {
  readonly tree: number;
  readonly id: number;
  readonly parent: number;
  readonly context: number;
  readonly depth: number;
  readonly type: string;
  readonly version: number;
  readonly encoding: number;
  readonly payload: Uint8Array | null;
  readonly size: number;
  readonly flags: number;
  readonly created_at: number;
  readonly jump: number;
  readonly side_jump: number;
  readonly key: Uint8Array | null;
  /** Only the columns for readers include this field: `shownColumns`. */
  readonly erased?: boolean;
}

/** The columns of table `t` that `TurnColumns` has. */
export function turnColumns(t: string): string {
  return `${t}.tree, ${t}.id, ${t}.parent, ${t}.context, ${t}.depth, ${t}.type, ${t}.version, ${t}.encoding,
    ${t}.payload, ${t}.size, ${t}.flags, ${t}.created_at, ${t}.jump, ${t}.side_jump, ${t}.key`;
}

/** True for a blob that was erased and not put again. Most stores have erased nothing. */
export function isErased(hash: string): string {
  return `(EXISTS (SELECT FROM quipu.erased_blobs gone WHERE gone.hash = ${hash})
    AND NOT EXISTS (SELECT FROM quipu.blobs there WHERE there.hash = ${hash}))`;
}

/** The same columns for readers, who get no hash of an erased blob. */
export function shownColumns(t: string): string {
  return `${turnColumns(t)}, ${isErased(`${t}.payload`)} AS erased`;
}

/** A turn and its tree, which all turns with the same root share. */
export interface TreeTurn extends StoredTurn {
  readonly tree: number;
}

export function toTurnRow(columns: TurnColumns): TurnRow {
  const { parent, depth, type, version, encoding, payload, size, flags } = columns;
  return {
    id: BigInt(columns.id) as TurnId,
    parent: parent === 0 ? NO_TURN : (BigInt(parent) as TurnId),
    context: BigInt(columns.context) as ContextId,
    depth,
    type,
    version,
    encoding,
    payload:
      payload === null ? undefined : columns.erased === true ? NO_HASH : bytesToHash(payload),
    size,
    flags,
    createdAt: columns.created_at,
  };
}

export function toTreeTurn(columns: TurnColumns): TreeTurn {
  return {
    row: toTurnRow(columns),
    jump: columns.jump,
    sideJump: columns.side_jump,
    idempotency: columns.key === null ? undefined : bytesToKeyHash(columns.key),
    tree: columns.tree,
  };
}
