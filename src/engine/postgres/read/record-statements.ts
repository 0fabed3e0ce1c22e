import type { Statement } from '../../../postgres/sql.ts';
import { CONTEXT_COLUMNS } from './context-rows.ts';
import { isErased } from './turn-rows.ts';

const PATCH_COLUMNS = `p.turn, p.seq, p.tombstone, p.encoding, p.payload, p.size, p.created_at,
  ${isErased('p.payload')} AS erased`;

/** The SHA-256 name of a blob outlives the blob. */
export const FIND_BY_SHA256: Statement = {
  name: 'find-by-sha256',
  text: 'SELECT s.hash FROM quipu.sha256s s JOIN quipu.blobs b ON b.hash = s.hash WHERE s.sha256 = $1',
};

export const GET_CONTEXT: Statement = {
  name: 'get-context',
  text: `SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c WHERE c.id = $1 AND NOT c.removed`,
};

export const GET_CONTEXTS: Statement = {
  name: 'get-contexts',
  text: `SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c
    WHERE c.id = ANY($1::bigint[]) AND NOT c.removed ORDER BY c.id`,
};

export const GET_OVERLAYS: Statement = {
  name: 'get-overlays',
  text: `SELECT ${PATCH_COLUMNS}, p.fs_root FROM quipu.patches p WHERE p.turn = ANY($1::bigint[]) ORDER BY p.seq`,
};

export const GET_PATCHES_AT: Statement = {
  name: 'get-patches-at',
  text: `SELECT ${PATCH_COLUMNS} FROM quipu.patches p
    WHERE p.seq = ANY($1::bigint[]) AND NOT p.fs_root ORDER BY p.seq`,
};

export const TIPS: Statement = {
  name: 'tips',
  text: `SELECT next_turn - 1 AS turn, next_context - 1 AS context, next_patch - 1 AS patch,
    ARRAY(SELECT o.turn::text FROM quipu.open_turns o ORDER BY o.turn) AS open FROM quipu.clock`,
};

export const GET_LOG: Statement = {
  name: 'get-log',
  text: 'SELECT name, lines, bytes FROM quipu.logs WHERE name = $1',
};

/** Also reads the length of the log, so that a missing line is noticed. */
export const READ_LOG: Statement = {
  name: 'read-log',
  text: `SELECT l.lines, l.bytes, n.nth, n.line FROM quipu.logs l
    LEFT JOIN quipu.log_lines n ON n.name = l.name AND n.nth >= $2 AND n.nth < $3 WHERE l.name = $1 ORDER BY n.nth`,
};

export const LIST_LOGS: Statement = {
  name: 'list-logs',
  text: 'SELECT name FROM quipu.logs WHERE name >= $1 AND name < $2 AND name > $3 ORDER BY name LIMIT $4',
};

export const GET_DOC: Statement = {
  name: 'get-doc',
  text: 'SELECT name, version, content FROM quipu.docs WHERE name = $1 AND content IS NOT NULL',
};

export const LIST_DOCS: Statement = {
  name: 'list-docs',
  text: `SELECT name FROM quipu.docs WHERE name >= $1 AND name < $2 AND name > $3 AND content IS NOT NULL
    ORDER BY name LIMIT $4`,
};

/** The server's settings decide about durability: a server that does not sync reports `unsafe`. */
export const STATS: Statement = {
  name: 'stats',
  text: `SELECT CASE WHEN current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off'
      THEN 'unsafe' ELSE 'safe' END AS durability,
    turns, contexts, next_patch - 1 AS patches, blobs, blob_bytes AS "blobBytes", stored_bytes AS "storedBytes",
    logical_bytes AS "logicalBytes", logs, docs,
    (SELECT coalesce(sum(pg_total_relation_size(r.oid)), 0)::bigint FROM pg_class r
      WHERE r.relnamespace = to_regnamespace($1) AND r.relkind = 'r') AS "diskBytes"
    FROM quipu.clock`,
};
