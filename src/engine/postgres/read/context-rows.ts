import type { ContextId, TurnId } from '../../../base/brand.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import { toHeadRow } from '../../plan/report.ts';
import type { ContextMeta, ContextRow } from '../../rows.ts';

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
  const meta = JSON.parse(columns.meta) as ContextMeta;
  return { ...toHeadRow(toHeadRecord(columns)), meta };
}
