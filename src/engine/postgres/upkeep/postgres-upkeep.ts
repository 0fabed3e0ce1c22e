import type { Hash } from '../../../base/brand.ts';
import { QuipuError } from '../../../base/errors.ts';
import type { Adoption, Records } from '../../adoption.ts';
import type {
  BackupReport,
  CheckOptions,
  CheckReport,
  Collection,
  CollectionOptions,
  LineErasure,
  Upkeep,
} from '../../upkeep.ts';
import { PostgresRecords } from '../read/postgres-records.ts';
import { ADD_TOTALS, NOTHING_ADDED, takeClockAlone, totalValues } from '../feed/clock.ts';
import type { Ears } from '../commit/commit-group.ts';
import type { CollectionWorld } from './collection.ts';
import { hashToBytes } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { padLine } from '../../pad-line.ts';
import { NOTE_ERASED } from '../blobs/write-blobs.ts';
import { DROP_BLOBS } from './sweep.ts';

export interface UpkeepWorld extends Omit<CollectionWorld, 'setEars'> {
  /** One commit that adopts records. */
  adopt(adoption: Adoption): Promise<void>;
}

/** Upkeep of a database. Each task has its own file, which is loaded on first use. */
export class PostgresUpkeep implements Upkeep {
  /** The collection that runs in this process. */
  ears: Ears | undefined;
  readonly records: Records;
  readonly #world: UpkeepWorld;

  constructor(world: UpkeepWorld) {
    this.#world = world;
    this.records = new PostgresRecords(world.database);
  }

  async startCollection(options: CollectionOptions): Promise<Collection> {
    const { startCollection } = await import('./collection.ts');
    const setEars = (ears: Ears | undefined): void => void (this.ears = ears);
    return startCollection({ ...this.#world, setEars }, options);
  }

  async check(options: CheckOptions): Promise<CheckReport> {
    const { checkTables } = await import('./check-tables.ts');
    return checkTables(this.#world.database, options);
  }

  async eraseBlob(hash: Hash): Promise<void> {
    const { eraseBlob } = await import('./postgres-upkeep.ts');
    await eraseBlob(this.#world.database, hash);
  }

  async eraseLines(log: string, erasures: readonly LineErasure[]): Promise<void> {
    const { eraseLines } = await import('./postgres-upkeep.ts');
    await eraseLines(this.#world.database, log, erasures);
  }

  async adopt(adoption: Adoption): Promise<void> {
    const { database } = this.#world;
    // A collection that begins right after this hears of the adopted records, as of every commit.
    await database.write((transaction) => takeClockAlone(database, transaction, 'adopting'));
    await this.#world.adopt(adoption);
  }

  async backup(): Promise<BackupReport> {
    throw new QuipuError(
      'UNSUPPORTED',
      `${this.#world.database.name} is backed up with the tools of PostgreSQL, such as pg_dump`,
      { what: 'backup', found: 'postgres' },
    );
  }
}

// When an erasing transaction is committed, the rows are gone or replaced. The pages of the tables and the
// write-ahead log keep the old bytes until the database overwrites them.

/** Changes contain recently streamed and written data. Listeners are told that they missed some. */
const DROP_CHANGES: Statement = { name: 'drop-changes', text: 'DELETE FROM quipu.changes' };

const READ_LINES: Statement = {
  name: 'read-lines',
  text: 'SELECT nth, line FROM quipu.log_lines WHERE name = $1 AND nth = ANY($2::bigint[])',
};
const REPLACE_LINES: Statement = {
  name: 'replace-lines',
  text: `UPDATE quipu.log_lines l SET line = n.line FROM unnest($2::bigint[], $3::text[]) AS n(nth, line)
    WHERE l.name = $1 AND l.nth = n.nth`,
};

export async function eraseBlob(database: Database, hash: Hash): Promise<void> {
  await database.write(async (transaction) => {
    const clock = await takeClockAlone(database, transaction, 'erasing');
    const [gone] = await transaction.query<{ blobs: number; size: number; stored: number }>(
      DROP_BLOBS,
      [[hashToBytes(hash)], clock.seq],
    );
    const { blobs = 0, size = 0, stored = 0 } = gone ?? {};
    if (blobs === 0) return;
    const totals = { blobs: -blobs, blobBytes: -size, storedBytes: -stored };
    transaction.send(ADD_TOTALS, totalValues({ ...NOTHING_ADDED, ...totals }));
    transaction.send(NOTE_ERASED, [[hashToBytes(hash)]]);
    transaction.send(DROP_CHANGES);
  });
}

export async function eraseLines(
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
