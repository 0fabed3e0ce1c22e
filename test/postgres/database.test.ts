import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from 'pg';
import { Database } from '../../src/postgres/database.ts';
import { migrate, type SchemaPart } from '../../src/postgres/migrate.ts';
import { CommitCutter } from '../support/postgres/commit-cutter.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

const PART: SchemaPart = {
  name: 'test',
  migrations: [
    { version: 1, sql: 'CREATE TABLE notes (text text NOT NULL); CREATE TABLE other (x int);' },
    { version: 2, sql: 'ALTER TABLE notes ADD COLUMN at timestamptz' },
  ],
};

let url: string;
let proxy: CommitCutter;
let database: Database;

beforeAll(async () => {
  url = await freshDatabase();
  proxy = await CommitCutter.start(url);
  database = new Database(proxy.url, { connections: 4, patienceMs: 5000 });
  await migrate(database, PART);
});

afterAll(async () => {
  await database.close();
  await proxy.close();
});

async function countNotes(text: string): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    'SELECT count(*) AS count FROM quipu.notes WHERE text = $1',
    [text],
  );
  return row!.count;
}

describe('a write', () => {
  const write = (text: string): Promise<string> =>
    database.write(async (transaction) => {
      transaction.send('INSERT INTO quipu.notes (text) VALUES ($1)', [text]);
      return text;
    });

  /** What somebody writes who knows no better: whatever failed is sent again. */
  const naiveWrite = async (text: string): Promise<void> => {
    for (;;) {
      const client = new Client({ connectionString: proxy.url });
      client.on('error', () => undefined);
      try {
        await client.connect();
        await client.query('BEGIN; SET search_path = quipu');
        await client.query('INSERT INTO quipu.notes (text) VALUES ($1)', [text]);
        await client.query('COMMIT');
        await client.end();
        return;
      } catch {
        await client.end().catch(() => undefined);
      }
    }
  };

  it.each(['request', 'answer'] as const)(
    'is carried out once when the %s of its commit is lost',
    async (cut) => {
      proxy.cut(cut);
      await write(`cut ${cut}`);
      expect(await countNotes(`cut ${cut}`)).toBe(1);
    },
  );

  it('would be carried out twice by one who does not look', async () => {
    proxy.cut('answer');
    await naiveWrite('naive');
    expect(await countNotes('naive')).toBe(2);
  });

  it('is tried again after a deadlock or a serialization failure, and refused otherwise', async () => {
    let attempts = 0;
    await database.write(async (transaction) => {
      attempts += 1;
      if (attempts < 3) await transaction.query("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$");
    });
    expect(attempts).toBe(3);
    const broken = database.write(async (transaction) => {
      transaction.send('INSERT INTO quipu.notes (text) VALUES ($1)', ['half']);
      transaction.send('INSERT INTO quipu.notes (nothing) VALUES (1)');
    });
    await expect(broken).rejects.toMatchObject({ code: 'IO', data: { errno: '42703' } });
    expect(await countNotes('half')).toBe(0);
  });

  it('that throws leaves nothing behind', async () => {
    const thrown = database.write(async (transaction) => {
      await transaction.query('INSERT INTO quipu.notes (text) VALUES ($1)', ['thrown']);
      throw new TypeError('no');
    });
    await expect(thrown).rejects.toEqual(new TypeError('no'));
    expect(await countNotes('thrown')).toBe(0);
  });
});

describe('migrations', () => {
  it('run once, whoever comes first', async () => {
    const fresh = await freshDatabase();
    const databases = Array.from({ length: 4 }, () => new Database(fresh));
    await Promise.all(databases.map((each) => migrate(each, PART)));
    const rows = await databases[0]!.query('SELECT version FROM quipu.migrations ORDER BY version');
    expect(rows).toEqual([{ version: 1 }, { version: 2 }]);
    await Promise.all(databases.map((each) => each.close()));
  });

  it('refuse tables that are newer than they know', async () => {
    const older = { ...PART, migrations: PART.migrations.slice(0, 1) };
    await expect(migrate(database, older)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      data: { found: '2' },
    });
  });
});
