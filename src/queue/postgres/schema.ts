import type { SchemaPart } from '../../postgres/migrate.ts';

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
