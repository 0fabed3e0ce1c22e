import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { Database } from '../../src/postgres/database.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { STORE_SCHEMA } from '../../src/engine/postgres/schema.ts';
import { createStore } from '../../src/store/create-store.ts';
import { readText } from '../crash/read-text.ts';
import { fillEarly, fillLate } from '../crash/small-store.ts';
import { askAll, findQuestions, type Questions } from '../health/ask-all.ts';
import { attempt } from '../hostile/forged-store.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';

// What stands in a row need not be what a commit wrote. It is told as damage, and ends nothing.

const schemas = new StoreSchemas();

async function openBoth(): Promise<{ readonly engine: Engine; readonly database: Database }> {
  const engine = await schemas.open();
  const database = new Database(schemas.urlOf(engine), { connections: 1 });
  onTestFinished(async () => {
    await database.close();
    await engine.close();
  });
  return { engine, database };
}

it.each(['{', 'null', '"text"', '['.repeat(5000)])(
  'metadata of a context that cannot be parsed are damage (%#)',
  async (meta) => {
    const { engine, database } = await openBoth();
    const { contexts } = await engine.commit({ contexts: [{ do: 'create' }] });
    const [context] = contexts;
    await database.query('UPDATE quipu.contexts SET meta = $1', [meta]);
    const corrupt = { code: 'CORRUPT', data: { file: 'contexts' } };
    await expect(engine.getContext(context!.id)).rejects.toMatchObject(corrupt);
    await expect(engine.listContexts({ limit: 1 })).rejects.toMatchObject(corrupt);
  },
);

it.each([2 ** 50, 600_000, 10, -1])(
  'a blob of parts that says to have %i bytes is damage',
  async (size) => {
    const { engine, database } = await openBoth();
    const bytes = randomBytes(700_000);
    await engine.putBlob({ chunks: Readable.from([bytes]) });
    await database.query('UPDATE quipu.blobs SET size = $1', [size]);
    await expect(engine.viewBlob(hashBytes(bytes))).rejects.toMatchObject({ code: 'CORRUPT' });
  },
);

it('a change that cannot be read is told as missed', async () => {
  const { engine, database } = await openBoth();
  const missed = vi.fn<() => void>();
  const heard = vi.fn<() => void>();
  onTestFinished(engine.subscribe(heard, missed));
  await engine.commit({ contexts: [{ do: 'create' }] });
  await vi.waitFor(() => expect(heard).toHaveBeenCalled(), PATIENCE);
  const told = missed.mock.calls.length;
  const insert =
    'INSERT INTO quipu.changes (seq, change) SELECT max(seq) + 1, $1 FROM quipu.changes';
  await database.query(insert, ['{']);
  await vi.waitFor(() => expect(missed.mock.calls.length).toBeGreaterThan(told), PATIENCE);
});

/** The same every time: a database has more places than a short run sees. */
const SEED = 20_261;
const RUNS = 60;
const NAT = fc.nat(10_000);
const NUMBERS = ['0', '1', '-1', '7', '2147483648', '9007199254740992', '1000000000000000000'];
const TEXTS = ['', '{', 'null', '[]', '7', '{"labels":7}', '{"name":{}}', '../x', 'x'.repeat(3000)];
const BYTES = ['', '00', '00'.repeat(32), 'ff'.repeat(33)].map((hex) => `\\x${hex}`);
const VALUES: Readonly<Record<string, readonly string[]>> = {
  bigint: NUMBERS,
  integer: NUMBERS,
  smallint: NUMBERS,
  text: TEXTS,
  bytea: BYTES,
  boolean: ['true', 'false'],
};

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

/** The columns of the store that hold what was committed. */
async function findColumns(database: Database): Promise<readonly Column[]> {
  const tables = STORE_SCHEMA.migrations.flatMap(({ sql }) =>
    [...sql.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name = '']) => name),
  );
  const found = await Promise.all(
    tables.map((table) =>
      database.query<Column>(
        `SELECT '${table}' AS "table", attname AS "column", atttypid::regtype::text AS type
         FROM pg_attribute WHERE attrelid = 'quipu.${table}'::regclass AND attnum > 0 AND NOT attisdropped`,
      ),
    ),
  );
  return found.flat().filter(({ type }) => Object.hasOwn(VALUES, type));
}

async function askEverything(engine: Engine, questions: Questions): Promise<void> {
  const store = createStore(engine);
  await attempt('ask', () => askAll(engine, questions));
  await attempt('read', () => readText(engine));
  await attempt('stats', () => store.maintain.stats());
  for (let id = 1; id <= questions.contexts; id += 1) {
    await attempt('last', () => store.contexts.last(id, 50));
    await attempt('get', () => store.contexts.get(id));
  }
  await attempt('list', () => store.contexts.list({}));
  await attempt('verify', () => store.maintain.verify());
  await attempt('dry run', () => store.maintain.gc({ dryRun: true }));
}

it('whatever a row says, reads and checks end with an answer or with an error of Quipu', async () => {
  const { engine, database } = await openBoth();
  await fillEarly(engine);
  await fillLate(engine, true);
  const questions = await findQuestions(engine);
  const columns = await findColumns(database);
  expect(columns.length).toBeGreaterThan(50);
  const property = fc.asyncProperty(NAT, NAT, NAT, async (which, nth, how) => {
    const { table, column, type } = columns[which % columns.length] as Column;
    const value = VALUES[type]?.[how % (VALUES[type]?.length ?? 1)] ?? '';
    const change = `${table}.${column} = ${value.slice(0, 20)}`;
    const rows = await database.query<object>(`SELECT * FROM quipu.${table}`);
    const isChanged = await database
      .query(
        `UPDATE quipu.${table} SET ${column} = $1::${type} WHERE ctid =
         (SELECT ctid FROM quipu.${table} LIMIT 1 OFFSET ${nth % Math.max(1, rows.length)})`,
        [value],
      )
      .then(
        () => rows.length > 0,
        () => false,
      );
    if (!isChanged) return;
    try {
      await askEverything(engine, questions);
    } catch (error) {
      throw new Error(`${change}: ${(error as Error).message}`, { cause: error });
    } finally {
      await putBack(database, table, rows);
    }
  });
  await fc.assert(property, { numRuns: RUNS, seed: SEED });
});

async function putBack(database: Database, table: string, rows: readonly object[]): Promise<void> {
  await database.query(`DELETE FROM quipu.${table}`);
  for (const row of rows) {
    const [names, values] = [Object.keys(row), Object.values(row) as unknown[]];
    const places = values.map((_, at) => `$${at + 1}`);
    await database.query(
      `INSERT INTO quipu.${table} (${names.join()}) OVERRIDING SYSTEM VALUE VALUES (${places.join()})`,
      values,
    );
  }
}
