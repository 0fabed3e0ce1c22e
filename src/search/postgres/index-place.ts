import type { Database } from '../../postgres/database.ts';
import { migrate } from '../../postgres/migrate.ts';
import type { IndexPlace } from '../contract/search-index.ts';
import { SEARCH_TABLES } from './schema.ts';

const TABLE_THERE = 'SELECT to_regclass($1) IS NOT NULL AS there';
const BEGUN = 'SELECT begun AS there FROM quipu.search_state';

/** The place of the index in the database of a store. It stays the caller's. */
export function indexInDatabase(database: Database): IndexPlace {
  const isThere = async (sql: string, values?: readonly unknown[]): Promise<boolean> =>
    (await database.query<{ there: boolean }>(sql, values))[0]?.there === true;

  return {
    async exists() {
      const table = `${database.address.schema}.search_state`;
      return (await isThere(TABLE_THERE, [table])) && isThere(BEGUN);
    },
    async open(fingerprint) {
      await migrate(database, SEARCH_TABLES);
      const { PostgresIndex, chooseTexts } = await import('./postgres-index.ts');
      await chooseTexts(database, fingerprint);
      return new PostgresIndex(database, fingerprint);
    },
    async remove() {
      const { emptyIndex } = await import('./postgres-index.ts');
      await emptyIndex(database, false);
    },
  };
}
