import type { Database, Statement } from '../../../base/sqlite.ts';
import type { RunSetState } from './run-set.ts';
import { checked, NO_TOTALS, ShelfDamaged, summed } from './shelf.ts';
import type { Positions, Totals } from './shelf.ts';

// One row that describes the rest of the file. Every transaction writes it.

export const MANIFEST_SQL = `
  CREATE TABLE manifest (id INTEGER PRIMARY KEY, body TEXT NOT NULL, sum INTEGER NOT NULL);
`;

export interface Manifest {
  readonly positions: Positions;
  readonly totals: Totals;
  /** Packs that are gone. Lookups skip their entries, and merges leave them out. */
  readonly gonePacks: readonly number[];
  readonly blobs: RunSetState;
  readonly keys: RunSetState;
  readonly sha256: RunSetState;
}

/** The three sets share tables and take run numbers in turn. */
export const RUN_STRIDE = 3;

const EMPTY: Manifest = {
  positions: {},
  totals: NO_TOTALS,
  gonePacks: [],
  blobs: { nextRun: 0, runs: [], merges: [] },
  keys: { nextRun: 1, runs: [], merges: [] },
  sha256: { nextRun: 2, runs: [], merges: [] },
};

export class ManifestTable {
  readonly #get: Statement<[], { body: string; sum: number }>;
  readonly #put: Statement<[{ body: string; sum: number }]>;

  constructor(db: Database) {
    this.#get = db.prepare('SELECT body, sum FROM manifest WHERE id = 1');
    this.#put = db.prepare('INSERT OR REPLACE INTO manifest VALUES (1, @body, @sum)');
  }

  reset(): void {
    this.write(EMPTY);
  }

  read(): Manifest {
    const row = this.#get.get();
    if (row === undefined) throw new ShelfDamaged('the manifest is missing');
    return JSON.parse(checked('manifest', row).body) as Manifest;
  }

  write(manifest: Manifest): void {
    this.#put.run(summed({ body: JSON.stringify(manifest) }));
  }
}
