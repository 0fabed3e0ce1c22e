import { Database } from '../../../src/base/sqlite.ts';
import fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compileFilter, sqliteDialect, type SqlDialect } from '../../../src/queue/filter/filter.ts';
import { parseFilter } from '../../../src/queue/filter/parse-filter.ts';
import { postgresDialect, toStored } from '../../../src/queue/postgres/tables/schema.ts';
import { SCHEMA } from '../../../src/queue/sqlite/open-database.ts';
import { randomEvent, randomFilter } from '../../queue/random-filters.ts';
import { freshDatabase } from '../../support/postgres/fresh-database.ts';

const sqlite = new Database(':memory:');
let client: Client;

beforeAll(async () => {
  sqlite.exec(SCHEMA);
  client = new Client({ connectionString: await freshDatabase(), pipeline: true });
  await client.connect();
  await client.query(`CREATE TABLE events (id bigint, created_at text COLLATE "C",
    source text COLLATE "C", type text COLLATE "C", subtype text COLLATE "C", content text COLLATE "C")`);
});
afterAll(async () => {
  await client.end();
  sqlite.close();
});

const select = 'SELECT id FROM events WHERE ';

function inSqlite(filter: string): unknown[] {
  const { sql, params } = compileFilter(parseFilter(filter), sqliteDialect);
  const rows = sqlite.prepare(`${select}${sql} ORDER BY id`).all(...params);
  return rows.map((row) => (row as { id: number }).id);
}

async function inPostgres(filter: string, dialect: SqlDialect): Promise<unknown[]> {
  const { sql, params } = compileFilter(parseFilter(filter), dialect);
  const { rows } = await client.query<{ id: string }>(`${select}${sql} ORDER BY id`, [...params]);
  return rows.map(({ id }) => Number(id));
}

interface Columns {
  readonly source: string;
  readonly type: string;
  readonly subtype: string | null;
  readonly content: string;
}

/** Rejects when the two databases part on any of the filters. */
async function compare(
  dialect: SqlDialect,
  events: readonly Columns[],
  filters: readonly string[],
): Promise<void> {
  sqlite.exec('DELETE FROM events');
  await client.query('TRUNCATE events');
  const insert = sqlite.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)');
  for (const [at, { source, type, subtype, content }] of events.entries()) {
    const row = [at + 1, '2026-01-01T00:00:00.000Z', source, type, subtype, content];
    insert.run(...row);
    const stored = row.map((value) => (typeof value === 'string' ? toStored(value) : value));
    await client.query('INSERT INTO events VALUES ($1, $2, $3, $4, $5, $6)', stored);
  }
  const wanted = filters.map((filter) => [filter, inSqlite(filter)]);
  const found = await Promise.all(
    filters.map(async (filter) => [filter, await inPostgres(filter, dialect)]),
  );
  expect(found).toEqual(wanted);
}

it('means by a filter what SQLite means by it', async () => {
  const events = fc.array(randomEvent, { minLength: 1, maxLength: 8 });
  const filters = fc.array(randomFilter, { maxLength: 30 });
  const property = fc.asyncProperty(events, filters, async (...given) =>
    compare(postgresDialect, ...given),
  );
  await expect(fc.assert(property, { numRuns: 40 })).resolves.toBeUndefined();
});

// Each is what one would write first.
it.each<[string, string, Partial<SqlDialect>]>([
  ['without a collation', "'a' > 'B'", { value: (value, bind) => `${bind(value)}::text` }],
  [
    'with its own LIKE',
    String.raw`source LIKE 'a\_'`,
    { like: (left, { pattern }, bind) => `${left} ILIKE ${bind(pattern)}` },
  ],
  [
    'with LIKE for GLOB',
    "source GLOB 'a*'",
    { glob: (left, pattern, bind) => `${left} LIKE ${bind(pattern)}` },
  ],
])('is found out %s', async (_, filter, broken) => {
  const event = { source: String.raw`a\b`, type: 'message', subtype: null, content: '' };
  await compare(postgresDialect, [event], [filter]);
  const found = compare({ ...postgresDialect, ...broken }, [event], [filter]);
  await expect(found).rejects.toThrow(/equal/);
});
