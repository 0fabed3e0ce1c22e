import { Client } from 'pg';

/** Runs one statement, or several without values, on the tables of the store at `url`. */
export async function runOn(
  url: string,
  sql: string,
  values?: unknown[],
): Promise<Record<string, unknown>[]> {
  const address = new URL(url);
  const schema = address.searchParams.get('schema') ?? 'quipu';
  address.search = '';
  const client = new Client({
    connectionString: address.href,
    options: `-c search_path=${schema}`,
  });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}
