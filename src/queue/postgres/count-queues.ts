import type { Database } from '../../postgres/database.ts';

/** How many queues a database has. Their tables are made with the first one, and not by asking. */
export async function countPostgresQueues(database: Database): Promise<number> {
  const [tables] = await database.query<{ there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS there',
    [`${database.address.schema}.queues`],
  );
  if (tables?.there !== true) return 0;
  const [row] = await database.query<{ count: number }>('SELECT count(*) AS count FROM queues');
  return row?.count ?? 0;
}
