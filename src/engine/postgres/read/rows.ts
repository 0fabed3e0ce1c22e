import type { ContextId, TurnId } from '../../../base/brand.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import { toHeadRow } from '../../plan/report.ts';
import type { ContextRow, FsRootRow, PatchRow, TurnRow } from '../../rows.ts';
import { mustReadContextMeta } from '../../context-meta.ts';
import { NO_TURN } from '../../../base/brand.ts';
import { bytesToHash } from '../../../base/hash.ts';
import { bytesToKeyHash } from '../../../format/idempotency.ts';
import { NO_HASH } from '../../../format/patch-record.ts';
import type { StoredTurn } from '../../plan/draft.ts';
import { prepared } from '../../../postgres/sql.ts';
import type { Statement } from '../../../postgres/sql.ts';

/** A row of `contexts`. */
export interface ContextColumns {
  readonly id: number;
  readonly head: number;
  readonly head_tree: number;
  readonly head_depth: number;
  readonly base: number;
  readonly open_turn: number;
  readonly open_bytes: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly removed: boolean;
  readonly meta: string;
}

export const CONTEXT_COLUMNS = `c.id, c.head, c.head_tree, c.head_depth, c.base, c.open_turn, c.open_bytes,
  c.created_at, c.updated_at, c.removed, c.meta`;

export function toHeadRecord(columns: ContextColumns): HeadRecord {
  return {
    id: BigInt(columns.id) as ContextId,
    head: BigInt(columns.head) as TurnId,
    headDepth: columns.head_depth,
    base: BigInt(columns.base) as TurnId,
    openTurn: BigInt(columns.open_turn) as TurnId,
    openBytes: columns.open_bytes,
    createdAt: columns.created_at,
    updatedAt: columns.updated_at,
    removed: columns.removed,
  };
}

export function toContextRow(columns: ContextColumns): ContextRow {
  return {
    ...toHeadRow(toHeadRecord(columns)),
    meta: mustReadContextMeta(columns.meta, columns.id, 'contexts'),
  };
}

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
}

/** The columns of table `t` that `TurnColumns` has. */
export function turnColumns(t: string, payload = `${t}.payload`): string {
  return `${t}.tree, ${t}.id, ${t}.parent, ${t}.context, ${t}.depth, ${t}.type, ${t}.version, ${t}.encoding,
    ${payload}, ${t}.size, ${t}.flags, ${t}.created_at, ${t}.jump, ${t}.side_jump, ${t}.key`;
}

/** True for a blob that was erased and not put again. Most stores have erased nothing, which is asked once. */
function isErased(hash: string): string {
  return `EXISTS (SELECT FROM quipu.erased_blobs)
    AND EXISTS (SELECT FROM quipu.erased_blobs gone WHERE gone.hash = ${hash})
    AND NOT EXISTS (SELECT FROM quipu.blobs there WHERE there.hash = ${hash})`;
}

/** The hash as readers get it. A column of its own for erased blobs took a tenth of the time of a page. */
export function shownHash(hash: string, erased: string = isErased(hash)): string {
  return `CASE WHEN ${erased} THEN '\\x${NO_HASH}'::bytea ELSE ${hash} END AS payload`;
}

/** The same columns for readers, who get no hash of an erased blob. */
export function shownColumns(t: string): string {
  return turnColumns(t, shownHash(`${t}.payload`));
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
    payload: payload === null ? undefined : bytesToHash(payload),
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

export const PATCH_COLUMNS: string = `p.turn, p.seq, p.tombstone, p.encoding, ${shownHash('p.payload')}, p.size, p.created_at`;

export const GET_DOC: Statement = prepared('get-doc')`
  SELECT name, version, content FROM quipu.docs WHERE name = $1 AND content IS NOT NULL`;

export interface PatchColumns {
  readonly turn: number;
  readonly seq: number;
  readonly tombstone: boolean;
  readonly encoding: number;
  readonly payload: Uint8Array;
  readonly size: number;
  readonly created_at: number;
}

export interface OverlayColumns extends PatchColumns {
  readonly fs_root: boolean;
}

/** Takes rows by rising number: the last root that a turn was given counts. */
export function toFsRoots(rows: readonly OverlayColumns[]): FsRootRow[] {
  const newest = new Map(rows.filter((row) => row.fs_root).map((row) => [row.turn, row]));
  return [...newest.values()]
    .toSorted((a, b) => a.seq - b.seq)
    .map((row) => ({
      turn: BigInt(row.turn) as TurnId,
      root: bytesToHash(row.payload),
      seq: row.seq,
    }));
}

export function toPatchRow(columns: PatchColumns): PatchRow {
  return {
    seq: columns.seq,
    turn: BigInt(columns.turn) as TurnId,
    tombstone: columns.tombstone,
    encoding: columns.encoding,
    payload: bytesToHash(columns.payload),
    size: columns.size,
    createdAt: columns.created_at,
  };
}
