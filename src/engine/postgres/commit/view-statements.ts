import type { Statement } from '../../../postgres/sql.ts';
import { CONTEXT_COLUMNS } from '../read/context-rows.ts';
import { turnColumns } from '../read/turn-rows.ts';

// The statements that a group of batches runs before it is planned. Each statement takes lists, so the number of
// statements does not depend on the number of batches.

export const FIND_BLOBS: Statement = {
  name: 'find-blobs',
  text: 'SELECT hash FROM quipu.blobs WHERE hash = ANY($1::bytea[])',
};

export const FIND_ERASED: Statement = {
  name: 'find-erased',
  text: 'SELECT hash FROM quipu.erased_blobs WHERE hash = ANY($1::bytea[])',
};

export const FIND_SHA256S: Statement = {
  name: 'find-sha256s',
  text: 'SELECT sha256, hash FROM quipu.sha256s WHERE sha256 = ANY($1::bytea[])',
};

/** Finds contexts by their ids, and the contexts in which these turns are open. */
export const FIND_CONTEXTS: Statement = {
  name: 'find-contexts',
  text: `SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c WHERE c.id = ANY(
    $1::bigint[] || ARRAY(SELECT o.context FROM quipu.open_turns o WHERE o.turn = ANY($2::bigint[])))`,
};

/** Finds turns by their ids and the heads of these contexts, each together with its jump target. */
export const FIND_TURNS: Statement = {
  name: 'find-turns',
  text: `WITH wanted AS (
      SELECT x.tree, x.id FROM quipu.turn_trees x WHERE x.id = ANY($1::bigint[])
      UNION
      SELECT c.head_tree, c.head FROM quipu.contexts c WHERE c.id = ANY($2::bigint[])
    ), found AS MATERIALIZED (
      SELECT ${turnColumns('t')} FROM wanted w JOIN quipu.turns t ON t.tree = w.tree AND t.id = w.id
    )
    SELECT * FROM found
    UNION ALL
    SELECT ${turnColumns('j')} FROM found f JOIN quipu.turns j ON j.tree = f.tree AND j.id = f.jump`,
};

export const FIND_KEYS: Statement = {
  name: 'find-keys',
  text: 'SELECT key, turn FROM quipu.turn_keys WHERE key = ANY($1::bytea[])',
};

export const FIND_DOCS: Statement = {
  name: 'find-docs',
  text: 'SELECT name, version, content IS NULL AS removed FROM quipu.docs WHERE name = ANY($1::text[])',
};

export const FIND_LOGS: Statement = {
  name: 'find-logs',
  text: 'SELECT name, lines, bytes FROM quipu.logs WHERE name = ANY($1::text[])',
};

/** A name is a folder when another name begins with it and a slash. `0` is the character after the slash. */
export const FIND_FILE_KINDS: Statement = {
  name: 'find-file-kinds',
  text: `SELECT * FROM (
      SELECT n AS name, coalesce(
        (SELECT 'log' FROM quipu.logs l WHERE l.name = n),
        (SELECT 'doc' FROM quipu.docs d WHERE d.name = n AND d.published AND d.content IS NOT NULL),
        (SELECT 'folder' FROM quipu.logs l WHERE l.name > n || '/' AND l.name < n || '0' LIMIT 1),
        (SELECT 'folder' FROM quipu.docs d WHERE d.name > n || '/' AND d.name < n || '0'
          AND d.published AND d.content IS NOT NULL LIMIT 1)
      ) AS kind FROM unnest($1::text[] COLLATE "C") n) kinds WHERE kind IS NOT NULL`,
};

export const READ_OPEN_TEXT: Statement = {
  name: 'read-open-text',
  text: 'SELECT bytes FROM quipu.open_deltas WHERE turn = $1 ORDER BY start',
};

export const NEWEST_PATCH: Statement = {
  name: 'newest-patch',
  text: 'SELECT max(seq) AS seq FROM quipu.patches WHERE turn = $1 AND NOT fs_root',
};

export const FIRST_FS_ROOT: Statement = {
  name: 'first-fs-root',
  text: 'SELECT payload FROM quipu.patches WHERE turn = $1 AND fs_root ORDER BY seq LIMIT 1',
};
