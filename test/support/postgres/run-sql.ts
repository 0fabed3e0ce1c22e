import { Client } from 'pg';

/** Every connection to the database but the one that asks. */
export const CUT_ALL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;

/** Over a connection of its own, with the tables of a store in sight. */
export async function runSql(url: string, sql: string): Promise<readonly object[]> {
  const client = new Client({ connectionString: url, options: '-c search_path=quipu' });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<object>(sql);
  await client.end();
  return rows;
}
