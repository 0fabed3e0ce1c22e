import type { SchemaPart } from '../../postgres/migrate.ts';

// Tables of the search index on PostgreSQL, described in docs/format/search.md. The first search makes them. A released
// migration is never edited: a change is a new migration.

const FIRST = `
CREATE TABLE search_state (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  begun boolean NOT NULL DEFAULT false,
  generation bigint NOT NULL DEFAULT 0,
  texts text NOT NULL DEFAULT '',
  next_doc bigint NOT NULL DEFAULT 1,
  documents bigint NOT NULL DEFAULT 0,
  seen_seq bigint NOT NULL DEFAULT 0,
  done bigint NOT NULL DEFAULT 0,
  total bigint NOT NULL DEFAULT 0,
  what text NOT NULL DEFAULT '',
  holder uuid,
  expires_at timestamptz,
  waiting uuid,
  waits_until timestamptz
) WITH (fillfactor = 10);
INSERT INTO search_state DEFAULT VALUES;
CREATE TABLE search_erasures (
  server uuid PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE TABLE search_names (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name bytea NOT NULL UNIQUE
);
CREATE TABLE search_threads (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source integer NOT NULL,
  name bytea NOT NULL,
  mark text,
  UNIQUE (source, name)
);
CREATE TABLE search_forks (
  thread bigint PRIMARY KEY,
  parent bigint NOT NULL,
  depth bigint NOT NULL
);
CREATE INDEX search_forks_by_parent ON search_forks (parent);
CREATE TABLE search_docs (
  id bigint PRIMARY KEY,
  source integer NOT NULL,
  thread bigint NOT NULL,
  ref bytea NOT NULL,
  depth bigint NOT NULL,
  at bigint NOT NULL,
  piece integer NOT NULL,
  words integer NOT NULL,
  kind integer NOT NULL,
  type integer NOT NULL,
  model integer NOT NULL,
  blob bigint,
  sketch bytea NOT NULL,
  tokens tsvector NOT NULL
);
ALTER TABLE search_docs ALTER COLUMN tokens SET STATISTICS 0;
CREATE INDEX search_docs_by_ref ON search_docs (substring(ref FROM 1 FOR 64), thread);
CREATE INDEX search_docs_by_thread ON search_docs (thread);
CREATE INDEX search_docs_by_blob ON search_docs (blob) WHERE blob IS NOT NULL;
CREATE INDEX search_docs_by_token ON search_docs USING gin (tokens);
`;

export const SEARCH_TABLES: SchemaPart = {
  name: 'search',
  migrations: [{ version: 1, sql: FIRST }],
};

/** The form of a text in these tables: PostgreSQL has no text with a NUL in it, and bytes sort alike everywhere. */
export function toBytes(text: string): Buffer {
  return Buffer.from(text);
}

export function fromBytes(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

/** The first characters of a name are enough to count by it. */
const NAME_CHARS_MAX = 512;

export function toName(text: string): Buffer {
  return toBytes(text.slice(0, NAME_CHARS_MAX));
}
