import type { Statement } from '../../../postgres/sql.ts';

/** The approximate bytes of a row besides the bytes of its blob. */
export const BLOB_ROW_BYTES = 100;

export const OPEN_TURNS: Statement = {
  name: 'open-turns',
  text: 'SELECT turn FROM quipu.open_turns ORDER BY turn',
};

export const BEGIN: Statement = {
  name: 'begin-collection',
  text: `UPDATE quipu.clock SET collection = $1, upkeep = 'a collection', upkeep_owner = $2`,
};

export const END: Statement = {
  name: 'end-collection',
  text: `UPDATE quipu.clock SET collection = NULL, upkeep = NULL, upkeep_owner = NULL WHERE collection = $1`,
};

/** Drops the notes of collections that never ended. */
export const DROP_NOTES: Statement = {
  name: 'drop-notes',
  text: 'DELETE FROM quipu.collection_notes',
};

export const DROP_OWN_NOTES: Statement = {
  name: 'drop-own-notes',
  text: 'DELETE FROM quipu.collection_notes WHERE collection = $1',
};

export const READ_NOTES: Statement = {
  name: 'read-notes',
  text: 'SELECT nth, hash, turn FROM quipu.collection_notes WHERE collection = $1 AND nth > $2 ORDER BY nth',
};

/** Sealed turns below an id, newest first. */
export const TURN_EDGES: Statement = {
  name: 'turn-edges',
  text: `SELECT t.id, t.parent, t.payload FROM quipu.turn_trees x JOIN quipu.turns t ON t.tree = x.tree AND t.id = x.id
    WHERE x.id < $1 AND t.payload IS NOT NULL ORDER BY x.id DESC LIMIT $2`,
};

/** Newest first. A file-system root that another one replaced is skipped. */
export const PATCH_EDGES: Statement = {
  name: 'patch-edges',
  text: `SELECT p.turn, p.seq, p.payload, p.fs_root FROM quipu.patches p WHERE p.seq < $1
    AND (NOT p.fs_root OR NOT EXISTS (SELECT FROM quipu.patches n WHERE n.turn = p.turn AND n.fs_root AND n.seq > p.seq))
    ORDER BY p.seq DESC LIMIT $2`,
};

export const BLOBS: Statement = {
  name: 'collection-blobs',
  text: `SELECT hash, stored_size, put_seq <= $3 AND put_at <= $4 AS old FROM quipu.blobs
    WHERE hash > $1 ORDER BY hash LIMIT $2`,
};

/** Removes the parts and the blob in one statement, which sees the blob before it is gone. */
export const DROP_BLOBS: Statement = {
  name: 'drop-blobs',
  text: `WITH gone AS (DELETE FROM quipu.blobs WHERE hash = ANY($1::bytea[]) AND put_seq <= $2
      RETURNING size, stored_size, upload),
    parts AS (DELETE FROM quipu.blob_parts p USING gone g WHERE p.upload = g.upload)
    SELECT count(*) AS blobs, coalesce(sum(size), 0)::bigint AS size,
      coalesce(sum(stored_size), 0)::bigint AS stored FROM gone`,
};

/** Removes turns with everything that depends on them. */
export const DROP_TURNS: Statement = {
  name: 'drop-turns',
  text: `WITH trees AS (DELETE FROM quipu.turn_trees WHERE id = ANY($1::bigint[]) RETURNING tree, id),
    gone AS (DELETE FROM quipu.turns t USING trees x WHERE t.tree = x.tree AND t.id = x.id RETURNING t.key, t.size),
    keys AS (DELETE FROM quipu.turn_keys k USING gone g WHERE k.key = g.key),
    overlays AS (DELETE FROM quipu.patches WHERE turn = ANY($1::bigint[]))
    SELECT count(*) AS turns, coalesce(sum(size), 0)::bigint AS bytes FROM gone`,
};

/** Removes the parts of uploads that were never finished. */
export const DROP_UPLOADS: Statement = {
  name: 'drop-uploads',
  text: `WITH old AS (DELETE FROM quipu.uploads WHERE touched_at < now() - interval '1 day' RETURNING id)
    DELETE FROM quipu.blob_parts p USING old o WHERE p.upload = o.id`,
};
