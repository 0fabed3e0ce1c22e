// Tables of events.db. docs/format/queue.md is normative.

/** The tables that other programs may read. */
export const SCHEMA = `
CREATE TABLE IF NOT EXISTS events (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  source     TEXT    NOT NULL,
  type       TEXT    NOT NULL,
  subtype    TEXT,
  content    TEXT    NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_events_source ON events(source);
CREATE INDEX IF NOT EXISTS idx_events_type   ON events(type);
CREATE TABLE IF NOT EXISTS subscriptions (
  consumer_id  TEXT NOT NULL,
  handler_cmd  TEXT NOT NULL,
  filter       TEXT,
  PRIMARY KEY (consumer_id)
);
CREATE TABLE IF NOT EXISTS consumer_progress (
  consumer_id   TEXT NOT NULL PRIMARY KEY,
  last_acked_id INTEGER NOT NULL DEFAULT 0,
  updated_at    TEXT NOT NULL
);
`;

/**
 * Bookkeeping of this implementation, added to a database that has only the tables above. These tables may be emptied:
 * bookmarks save reading, failures are for people, line counts begin anew, and losses are noticed again.
 */
export const BOOKKEEPING = `
CREATE TABLE IF NOT EXISTS consumer_bookmarks (
  consumer_id TEXT NOT NULL PRIMARY KEY,
  from_id     INTEGER NOT NULL,
  to_id       INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS consumer_failures (
  consumer_id TEXT NOT NULL PRIMARY KEY,
  failures    INTEGER NOT NULL,
  failed      INTEGER NOT NULL,
  last_error  TEXT NOT NULL,
  updated_at  TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS file_lines (
  name  TEXT NOT NULL PRIMARY KEY,
  lines INTEGER NOT NULL
);
INSERT OR IGNORE INTO file_lines (name, lines) VALUES ('events.jsonl', 0), ('thread.log', 0);
CREATE TABLE IF NOT EXISTS event_losses (
  first_id INTEGER NOT NULL PRIMARY KEY,
  last_id  INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS damaged_events (
  id INTEGER NOT NULL, created_at, source, type, subtype, content, sum
);
`;

/** This version means that the bookkeeping and the checksums are there. */
export const SCHEMA_VERSION = 2;
