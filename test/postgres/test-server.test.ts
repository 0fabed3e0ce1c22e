import { Client } from 'pg';
import { expect, it } from 'vitest';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { PostgresServer } from '../support/postgres/postgres-server.ts';

async function ask(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(text);
    return rows;
  } finally {
    await client.end();
  }
}

it('gives each test a database of its own', async () => {
  const [one, other] = [await freshDatabase(), await freshDatabase()];
  await ask(one, 'CREATE TABLE notes (text text)');
  await expect(ask(other, 'SELECT * FROM notes')).rejects.toThrow('does not exist');
  await expect(ask(one.replace('p%3Aw', 'x'), 'SELECT 1')).rejects.toThrow('password');
});

it('keeps what was committed when it is killed', async () => {
  const server = await PostgresServer.start({ durable: true });
  try {
    const url = await server.createDatabase();
    await ask(url, 'CREATE TABLE notes (text text); INSERT INTO notes VALUES ($$kept$$)');
    expect(await ask(url, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
    await server.kill();
    await expect(ask(url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await server.start();
    expect(await ask(url, 'SELECT text FROM notes')).toEqual([{ text: 'kept' }]);
  } finally {
    await server.dispose();
  }
});
