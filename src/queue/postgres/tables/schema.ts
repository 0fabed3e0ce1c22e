import type { Database } from '../../../postgres/database.ts';
import type { SchemaPart } from '../../../postgres/migrate.ts';

// Tables of queues on PostgreSQL. docs/format/queue.md is normative. Every key begins with the queue, so that a queue
// with all its rows can be kept on one of many machines. All sorting of texts is by their bytes.

export const QUEUE_TABLES: SchemaPart = {
  name: 'queue',
  migrations: [
    {
      version: 1,
      sql: `
CREATE TABLE queues (
  queue   text COLLATE "C" NOT NULL PRIMARY KEY,
  last_id bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE queue_events (
  queue      text COLLATE "C" NOT NULL,
  id         bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  source     text COLLATE "C" NOT NULL,
  type       text COLLATE "C" NOT NULL,
  subtype    text COLLATE "C",
  content    text COLLATE "C" NOT NULL,
  PRIMARY KEY (queue, id)
);
CREATE TABLE queue_consumers (
  queue         text COLLATE "C" NOT NULL,
  consumer_id   text COLLATE "C" NOT NULL,
  handler_cmd   text,
  filter        text,
  last_acked_id bigint NOT NULL DEFAULT 0,
  updated_at    text,
  bookmark_from bigint NOT NULL DEFAULT 0,
  bookmark_to   bigint NOT NULL DEFAULT 0,
  failures      integer NOT NULL DEFAULT 0,
  failed        boolean NOT NULL DEFAULT false,
  last_error    text,
  retry_at      timestamptz,
  waits_after   bigint NOT NULL DEFAULT 0,
  fence         bigint NOT NULL DEFAULT 0,
  holder        text,
  expires_at    timestamptz,
  PRIMARY KEY (queue, consumer_id)
) WITH (fillfactor = 50);`,
    },
  ],
};

/** The database's clock in the form of events: one clock for all machines. */
export const SQL_NOW = `to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Whether somebody holds the lease of a consumer. */
export const SQL_LEASED = '(holder IS NOT NULL AND expires_at > clock_timestamp())';

// PostgreSQL has no text with a NUL character in it, and events may have one. A text is stored with U+0001 U+0001 for
// NUL and U+0001 U+0002 for U+0001. That keeps the order of texts, so stored texts can be compared as they are.

/* eslint-disable no-control-regex -- Control characters are what this is about. */

/** The form in which a text is stored and compared. */
export function toStored(text: string): string {
  if (!/[\0\u0001]/.test(text)) return text;
  return text.replaceAll(/[\0\u0001]/g, (found) =>
    found === '\0' ? '\u0001\u0001' : '\u0001\u0002',
  );
}

export function fromStored(stored: string): string {
  if (!stored.includes('\u0001')) return stored;
  return stored.replaceAll(/\u0001[\u0001\u0002]/g, (found) =>
    found === '\u0001\u0001' ? '\0' : '\u0001',
  );
}

/** SQL for the characters of a stored text before its first NUL: SQLite looks no further for a pattern. */
export function sqlPatternText(stored: string): string {
  return `replace(split_part(${stored}, E'\\x01\\x01', 1), E'\\x01\\x02', E'\\x01')`;
}

/** Returns whether there can be queues at all. The first queue creates the tables; asking does not. */
export async function hasQueueTables(database: Database): Promise<boolean> {
  const [tables] = await database.query<{ there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS there',
    [`${database.address.schema}.queues`],
  );
  return tables?.there === true;
}
