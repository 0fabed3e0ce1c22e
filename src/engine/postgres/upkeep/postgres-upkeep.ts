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
import { takeClockAlone } from './upkeep-lock.ts';
import type { Ears } from '../commit/commit-group.ts';
import type { CollectionWorld } from './collection.ts';

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
    const { eraseBlob } = await import('./erase.ts');
    await eraseBlob(this.#world.database, hash);
  }

  async eraseLines(log: string, erasures: readonly LineErasure[]): Promise<void> {
    const { eraseLines } = await import('./erase.ts');
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
