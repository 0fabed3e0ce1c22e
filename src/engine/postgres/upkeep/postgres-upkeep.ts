import type { Hash } from '../../../base/brand.ts';
import { unsupported } from '../../../base/errors.ts';
import type { Adoption } from '../../adoption.ts';
import type { LineErasure, Upkeep } from '../../upkeep.ts';
import { postgresRecords } from '../read/postgres-records.ts';
import { takeClockAlone } from '../feed/clock.ts';
import type { OwnReliance } from '../commit/commit-group.ts';
import type { CollectionParts } from './collection.ts';
import { hashToBytes } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared } from '../../../postgres/sql.ts';
import { padLine } from '../../json-text.ts';
import { NOTE_ERASED, dropBlobs } from '../blobs/write-blobs.ts';

export interface UpkeepParts extends Omit<CollectionParts, 'setReliance'> {
  /** One commit that adopts records. */
  adopt(adoption: Adoption): Promise<void>;
}

/** Upkeep of a database, and what its commits need to know of it. */
export interface PostgresUpkeep extends Upkeep {
  /** The collection that runs in this process. */
  readonly reliance: () => OwnReliance | undefined;
}

/** The larger tasks have files of their own, which are loaded on first use. */
export function postgresUpkeep(parts: UpkeepParts): PostgresUpkeep {
  const { database } = parts;
  let reliance: OwnReliance | undefined;
  const setReliance = (given: OwnReliance | undefined): void => void (reliance = given);
  return {
    reliance: () => reliance,
    records: postgresRecords(database),

    async startCollection(options) {
      const { startCollection } = await import('./collection.ts');
      return startCollection({ ...parts, setReliance }, options);
    },

    async check(options) {
      const { checkTables } = await import('./check-tables.ts');
      return checkTables(database, options);
    },

    eraseBlob: (hash) => eraseBlob(database, hash),
    eraseLines: (log, erasures) => eraseLines(database, log, erasures),

    async adopt(adoption) {
      // A collection that begins right after this hears of the adopted records, as of every commit.
      await database.write((transaction) => takeClockAlone(database, transaction, 'adopting'));
      await parts.adopt(adoption);
    },

    async backup() {
      throw unsupported(
        'backup',
        'postgres',
        `${database.name} is backed up with the tools of PostgreSQL, such as pg_dump`,
      );
    },
  };
}

// When an erasing transaction is committed, the rows are gone or replaced. The pages of the tables and the
// write-ahead log keep the old bytes until the database overwrites them.

/** Changes contain recently streamed and written data. Listeners are told that they missed some. */
const DROP_CHANGES = prepared('drop-changes')`DELETE FROM quipu.changes`;

const READ_LINES = prepared('read-lines')`
  SELECT nth, line FROM quipu.log_lines WHERE name = $1 AND nth = ANY($2::bigint[])`;
const REPLACE_LINES = prepared('replace-lines')`
  UPDATE quipu.log_lines l SET line = n.line FROM unnest($2::bigint[], $3::text[]) AS n(nth, line)
  WHERE l.name = $1 AND l.nth = n.nth`;

async function eraseBlob(database: Database, hash: Hash): Promise<void> {
  await database.write(async (transaction) => {
    const clock = await takeClockAlone(database, transaction, 'erasing');
    const gone = await dropBlobs(transaction, [hash], clock.seq);
    if (gone.blobs === 0) return;
    transaction.send(NOTE_ERASED, [[hashToBytes(hash)]]);
    transaction.send(DROP_CHANGES);
  });
}

async function eraseLines(
  database: Database,
  log: string,
  erasures: readonly LineErasure[],
): Promise<void> {
  if (erasures.length === 0) return;
  await database.write(async (transaction) => {
    await takeClockAlone(database, transaction, 'erasing');
    const wanted = new Map(erasures.map(({ line, text }) => [line, text]));
    const numbers = [...wanted.keys()].filter((line) => Number.isSafeInteger(line));
    const rows = await transaction.query<{ nth: number; line: string }>(READ_LINES, [log, numbers]);
    const lines = new Map(rows.map(({ nth, line }) => [nth, line]));
    const padded = [...wanted].map(([nth, text]) => padLine(log, nth, lines.get(nth), text));
    transaction.send(REPLACE_LINES, [log, numbers, padded]);
    transaction.send(DROP_CHANGES);
  });
}
