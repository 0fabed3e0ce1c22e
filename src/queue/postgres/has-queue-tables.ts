import type { Database } from '../../postgres/database.ts';

/** Returns whether there can be queues at all. The first queue creates the tables; asking does not. */
export async function hasQueueTables(database: Database): Promise<boolean> {
  const [tables] = await database.query<{ there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS there',
    [`${database.address.schema}.queues`],
  );
  return tables?.there === true;
}
