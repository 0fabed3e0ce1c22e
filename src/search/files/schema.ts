// The tables of search.db. docs/format/search.md is normative.

/** Rises when a table or a token changes. There is no migration: the file is built again. */
export const SCHEMA_VERSION = 4;

/** The state that counts documents: counting the rows of a million took 10 ms of each query. */
export const DOCUMENTS = 'documents';

export const SCHEMA = `
CREATE TABLE state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE threads (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, name TEXT NOT NULL, mark TEXT,
  UNIQUE (source, name)
);
CREATE TABLE forks (thread INTEGER PRIMARY KEY, parent INTEGER NOT NULL, depth INTEGER NOT NULL);
CREATE INDEX forks_parent ON forks (parent);
CREATE TABLE docs (
  id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, ref NOT NULL, depth INTEGER NOT NULL,
  at INTEGER NOT NULL, piece INTEGER NOT NULL, kind INTEGER NOT NULL, type INTEGER NOT NULL, model INTEGER NOT NULL,
  blob INTEGER
);
CREATE INDEX docs_thread ON docs (thread, ref);
CREATE INDEX docs_ref ON docs (ref) WHERE typeof(ref) = 'text';
CREATE INDEX docs_blob ON docs (blob) WHERE blob IS NOT NULL;
CREATE TABLE parts (
  id INTEGER PRIMARY KEY, first INTEGER NOT NULL, chars INTEGER NOT NULL, sealed INTEGER NOT NULL,
  dirty INTEGER NOT NULL
);
CREATE TABLE fresh (
  id INTEGER PRIMARY KEY, piece INTEGER NOT NULL, words INTEGER NOT NULL, sketch BLOB NOT NULL
);
CREATE TABLE lengths (part INTEGER PRIMARY KEY, lengths BLOB NOT NULL);
CREATE TABLE counts (id INTEGER PRIMARY KEY, list BLOB NOT NULL);
`;

/**
 * One part of the index: an FTS5 table without the text. A part has a bounded size, and that bounds how long one step of
 * a query takes and how much is rewritten when a document must leave no trace.
 */
export function createPart(part: number): string {
  const name = partName(part);
  return `
CREATE VIRTUAL TABLE ${name} USING fts5(
  part, whole, field, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '+#'"
);
INSERT INTO ${name} (${name}, rank) VALUES ('hashsize', 8388608);
INSERT INTO ${name} (${name}, rank) VALUES ('automerge', 8);
`;
}

export function partName(part: number): string {
  return `text_${part}`;
}
