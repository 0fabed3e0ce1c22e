import type { SchemaPart } from '../../postgres/migrate.ts';

// The tables of a store, described in docs/format/postgres.md. A cluster would distribute each table by the first
// column of its primary key. A released migration is never edited: a change is a new migration.

const FIRST = `
CREATE TABLE clock (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  seq bigint NOT NULL DEFAULT 0,
  next_turn bigint NOT NULL DEFAULT 1,
  next_context bigint NOT NULL DEFAULT 1,
  next_patch bigint NOT NULL DEFAULT 1,
  time_ms bigint NOT NULL DEFAULT 0,
  collection uuid,
  upkeep text,
  upkeep_owner uuid,
  turns bigint NOT NULL DEFAULT 0,
  contexts bigint NOT NULL DEFAULT 0,
  blobs bigint NOT NULL DEFAULT 0,
  blob_bytes bigint NOT NULL DEFAULT 0,
  stored_bytes bigint NOT NULL DEFAULT 0,
  logical_bytes bigint NOT NULL DEFAULT 0,
  logs bigint NOT NULL DEFAULT 0,
  docs bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
INSERT INTO clock DEFAULT VALUES;

CREATE TABLE blobs (
  hash bytea PRIMARY KEY,
  codec smallint NOT NULL,
  size bigint NOT NULL,
  stored_size bigint NOT NULL,
  bytes bytea,
  upload uuid,
  put_seq bigint NOT NULL,
  put_at bigint NOT NULL
);
ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE blob_parts (
  upload uuid NOT NULL,
  nth integer NOT NULL,
  hash bytea NOT NULL,
  codec smallint NOT NULL,
  size integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (upload, nth)
);
ALTER TABLE blob_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE uploads (
  id uuid PRIMARY KEY,
  touched_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE sha256s (
  sha256 bytea PRIMARY KEY,
  hash bytea NOT NULL
);
CREATE TABLE erased_blobs (
  hash bytea PRIMARY KEY
);

CREATE TABLE turns (
  tree bigint NOT NULL,
  id bigint NOT NULL,
  parent bigint NOT NULL,
  context bigint NOT NULL,
  depth bigint NOT NULL,
  type text NOT NULL,
  version bigint NOT NULL,
  encoding bigint NOT NULL,
  payload bytea,
  size bigint NOT NULL,
  flags integer NOT NULL,
  created_at bigint NOT NULL,
  jump bigint NOT NULL,
  jump_depth bigint NOT NULL,
  side_jump bigint NOT NULL,
  side_depth bigint NOT NULL,
  key bytea,
  PRIMARY KEY (tree, id)
);
CREATE TABLE turn_trees (
  id bigint PRIMARY KEY,
  tree bigint NOT NULL
);
CREATE TABLE turn_keys (
  key bytea PRIMARY KEY,
  turn bigint NOT NULL
);
CREATE INDEX keys_by_turn ON turn_keys (turn);

CREATE TABLE servers (
  id uuid PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE open_turns (
  turn bigint PRIMARY KEY,
  context bigint NOT NULL,
  owner uuid NOT NULL
);
CREATE TABLE open_deltas (
  turn bigint NOT NULL,
  start bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (turn, start)
);

CREATE TABLE contexts (
  id bigint PRIMARY KEY,
  head bigint NOT NULL,
  head_tree bigint NOT NULL,
  head_depth bigint NOT NULL,
  base bigint NOT NULL,
  open_turn bigint NOT NULL,
  open_bytes bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  moved_seq bigint NOT NULL,
  removed boolean NOT NULL,
  kind text,
  meta text NOT NULL
);
CREATE INDEX contexts_by_time ON contexts (updated_at DESC, id DESC) WHERE NOT removed;
CREATE INDEX contexts_by_kind ON contexts (kind, updated_at DESC, id DESC) WHERE NOT removed;
CREATE TABLE context_labels (
  label text NOT NULL,
  context bigint NOT NULL,
  PRIMARY KEY (label, context)
);
CREATE INDEX labels_by_context ON context_labels (context);

CREATE TABLE patches (
  turn bigint NOT NULL,
  seq bigint NOT NULL,
  fs_root boolean NOT NULL,
  tombstone boolean NOT NULL,
  encoding bigint NOT NULL,
  payload bytea NOT NULL,
  size bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (turn, seq)
);
CREATE INDEX patches_by_seq ON patches (seq);

CREATE TABLE logs (
  name text COLLATE "C" PRIMARY KEY,
  lines bigint NOT NULL,
  bytes bigint NOT NULL
);
CREATE TABLE log_lines (
  name text COLLATE "C" NOT NULL,
  nth bigint NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (name, nth)
);
CREATE TABLE docs (
  name text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  content text,
  published boolean NOT NULL,
  updated_at bigint NOT NULL
);

CREATE TABLE changes (
  seq bigint PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  change text NOT NULL
);
CREATE TABLE collection_notes (
  collection uuid NOT NULL,
  nth bigint GENERATED ALWAYS AS IDENTITY,
  hash bytea,
  turn bigint,
  PRIMARY KEY (collection, nth)
);
`;

/** The store's id shows that every connection leads to the same store. */
const SECOND = `
ALTER TABLE clock ADD COLUMN store uuid NOT NULL DEFAULT gen_random_uuid();
`;

/** A name is bytes: a text of PostgreSQL cannot hold every character, and bytes sort alike in every database. */
const THIRD = `
CREATE TABLE context_names (
  name bytea PRIMARY KEY,
  context bigint NOT NULL
);
CREATE UNIQUE INDEX names_by_context ON context_names (context);
`;

/**
 * The fields at the top of `meta`, as `engine/context-meta.ts` writes them. They are bytes, and not jsonb, which cannot
 * hold every text. A context whose details hold a NUL, and that was there before, gets its fields with its next update.
 */
const FOURTH = `
CREATE TABLE context_fields (
  name bytea NOT NULL,
  value bytea NOT NULL,
  context bigint NOT NULL,
  PRIMARY KEY (name, value, context)
);
CREATE INDEX fields_by_context ON context_fields (context);
INSERT INTO context_fields (name, value, context)
  SELECT f.name, CASE
      WHEN f.kind = 'object' THEN '{'::bytea
      WHEN f.kind = 'array' THEN '['::bytea
      WHEN octet_length(f.value) <= 256 THEN f.value
      ELSE substring(f.value for 256) || '\\xff'::bytea || substring(sha256(f.value) for 16)
    END, f.context
  FROM (
    SELECT c.id AS context, json_typeof(e.value) AS kind, convert_to(e.value::text, 'UTF8') AS value,
      convert_to(to_json(e.key)::text, 'UTF8') AS name
    FROM contexts c CROSS JOIN LATERAL json_each(
      CASE WHEN position('\\u0000' IN c.meta) = 0 AND json_typeof(c.meta::json -> 'meta') = 'object'
        THEN c.meta::json -> 'meta' ELSE '{}'::json END) e
  ) f
  WHERE octet_length(f.name) <= 256;
`;

export const STORE_SCHEMA: SchemaPart = {
  name: 'store',
  migrations: [
    { version: 1, sql: FIRST },
    { version: 2, sql: SECOND },
    { version: 3, sql: THIRD },
    { version: 4, sql: FOURTH },
  ],
};
