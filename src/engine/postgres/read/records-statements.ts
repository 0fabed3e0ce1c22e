import type { Statement } from '../../../postgres/sql.ts';
import { turnColumns } from './turn-rows.ts';

/** Reads every id of a range that was handed out, with its turn or, where the turn is gone, with its key. */
export const TURN_ENTRIES: Statement = {
  name: 'turn-entries',
  text: `SELECT n::bigint AS number, ${turnColumns('t')},
      CASE WHEN t.id IS NULL THEN (SELECT k.key FROM quipu.turn_keys k WHERE k.turn = n) END AS gone_key
    FROM quipu.clock c CROSS JOIN LATERAL generate_series($1::bigint, least($2::bigint, c.next_turn) - 1) n
    LEFT JOIN quipu.turn_trees x ON x.id = n LEFT JOIN quipu.turns t ON t.tree = x.tree AND t.id = x.id ORDER BY n`,
};

export const PATCH_ENTRIES: Statement = {
  name: 'patch-entries',
  text: `SELECT n::bigint AS number, p.turn, p.seq, p.tombstone, p.encoding, p.payload, p.size, p.created_at, p.fs_root,
      EXISTS (SELECT FROM quipu.patches l WHERE l.turn = p.turn AND l.fs_root AND l.seq > p.seq) AS replaced
    FROM quipu.clock c CROSS JOIN LATERAL generate_series($1::bigint, least($2::bigint, c.next_patch) - 1) n
    LEFT JOIN quipu.patches p ON p.seq = n ORDER BY n`,
};

export const SHA256_NAMES: Statement = {
  name: 'sha256-names',
  text: 'SELECT sha256, hash FROM quipu.sha256s WHERE sha256 > $1 ORDER BY sha256 LIMIT $2',
};

export const ERASED: Statement = {
  name: 'erased',
  text: `SELECT e.hash FROM quipu.erased_blobs e WHERE e.hash > $1
    AND NOT EXISTS (SELECT FROM quipu.blobs b WHERE b.hash = e.hash) ORDER BY e.hash LIMIT $2`,
};

export const DOC_ENTRIES: Statement = {
  name: 'doc-entries',
  text: `SELECT d.name, d.version, d.content, d.published FROM unnest($1::text[]) WITH ORDINALITY AS n(name, nth)
    JOIN quipu.docs d ON d.name = n.name COLLATE "C" WHERE d.content IS NOT NULL ORDER BY n.nth`,
};
