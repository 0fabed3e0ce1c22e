import type { ContextId, TurnId } from '../../../base/brand.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import { toHeadRow } from '../../plan/report.ts';
import type { ContextRow, TurnRow } from '../../rows.ts';
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

/** The SHA-256 name of a blob outlives the blob. */
export const FIND_BY_SHA256: Statement = prepared('find-by-sha256')`
  SELECT s.hash FROM quipu.sha256s s JOIN quipu.blobs b ON b.hash = s.hash WHERE s.sha256 = $1`;

export const GET_CONTEXT: Statement = prepared('get-context')`
  SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c WHERE c.id = $1 AND NOT c.removed`;

export const FIND_CONTEXT: Statement = prepared('find-context')`
  SELECT ${CONTEXT_COLUMNS} FROM quipu.context_names n JOIN quipu.contexts c ON c.id = n.context
  WHERE n.name = $1 AND NOT c.removed`;

export const GET_CONTEXTS: Statement = prepared('get-contexts')`
  SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c
  WHERE c.id = ANY($1::bigint[]) AND NOT c.removed ORDER BY c.id`;

export const GET_OVERLAYS: Statement = prepared('get-overlays')`
  SELECT ${PATCH_COLUMNS}, p.fs_root FROM quipu.patches p WHERE p.turn = ANY($1::bigint[]) ORDER BY p.seq`;

export const GET_PATCHES_AT: Statement = prepared('get-patches-at')`
  SELECT ${PATCH_COLUMNS} FROM quipu.patches p
  WHERE p.seq = ANY($1::bigint[]) AND NOT p.fs_root ORDER BY p.seq`;

export const TIPS: Statement = prepared('tips')`
  SELECT next_turn - 1 AS turn, next_context - 1 AS context, next_patch - 1 AS patch,
  ARRAY(SELECT o.turn::text FROM quipu.open_turns o ORDER BY o.turn) AS open FROM quipu.clock`;

export const GET_LOG: Statement = prepared('get-log')`
  SELECT name, lines, bytes FROM quipu.logs WHERE name = $1`;

/** Also reads the length of the log, so that a missing line is noticed. */
export const READ_LOG: Statement = prepared('read-log')`
  SELECT l.lines, l.bytes, n.nth, n.line FROM quipu.logs l
  LEFT JOIN quipu.log_lines n ON n.name = l.name AND n.nth >= $2 AND n.nth < $3 WHERE l.name = $1 ORDER BY n.nth`;

export const LIST_LOGS: Statement = prepared('list-logs')`
  SELECT name FROM quipu.logs WHERE name >= $1 AND name < $2 AND name > $3 ORDER BY name LIMIT $4`;

export const GET_DOC: Statement = prepared('get-doc')`
  SELECT name, version, content FROM quipu.docs WHERE name = $1 AND content IS NOT NULL`;

export const LIST_DOCS: Statement = prepared('list-docs')`
  SELECT name FROM quipu.docs WHERE name >= $1 AND name < $2 AND name > $3 AND content IS NOT NULL
  ORDER BY name LIMIT $4`;

/** The server's settings decide about durability: a server that does not sync reports `unsafe`. */
export const STATS: Statement = prepared('stats')`
  SELECT CASE WHEN current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off'
    THEN 'unsafe' ELSE 'safe' END AS durability,
  turns, contexts, next_patch - 1 AS patches, blobs, blob_bytes AS "blobBytes", stored_bytes AS "storedBytes",
  logical_bytes AS "logicalBytes", logs, docs,
  (SELECT coalesce(json_agg(json_build_object('part', part, 'bytes', bytes) ORDER BY bytes DESC, part), '[]')
    FROM (SELECT r.relname AS part, pg_total_relation_size(r.oid) AS bytes FROM pg_class r
      WHERE r.relnamespace = to_regnamespace($1) AND r.relkind = 'r') AS tables) AS disk
  FROM quipu.clock`;
