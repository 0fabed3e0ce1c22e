import { Client } from 'pg';

/** Every connection to the database but the one that asks. */
export const CUT_ALL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;

/** Over a connection of its own, with the tables of the store at `url` in sight. Several only without values. */
export async function runSql(
  url: string,
  sql: string,
  values?: unknown[],
): Promise<readonly Record<string, unknown>[]> {
  const address = new URL(url);
  const schema = address.searchParams.get('schema') ?? 'quipu';
  address.searchParams.delete('schema');
  const client = new Client({
    connectionString: address.href,
    options: `-c search_path=${schema}`,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}
