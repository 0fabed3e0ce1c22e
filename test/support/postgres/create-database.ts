import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

/** The URL of a new, empty database on the server at `url`. */
export async function createDatabase(url: string): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${name}`);
  } finally {
    await client.end();
  }
  const created = new URL(url);
  created.pathname = `/${name}`;
  return created.href;
}
