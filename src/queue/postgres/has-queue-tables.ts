import type { Database } from '../../postgres/database.ts';

/** Whether there can be queues at all: their tables are made with the first one, and not by asking. */
export async function hasQueueTables(database: Database): Promise<boolean> {
  const [tables] = await database.query<{ there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS there',
    [`${database.address.schema}.queues`],
  );
  return tables?.there === true;
}
