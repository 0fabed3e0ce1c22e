import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ContextId } from '../../src/base/brand.ts';
import { openDatabase } from '../../src/open-store.ts';
import { Database } from '../../src/postgres/database.ts';
import type { Store } from '../../src/store/store.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { Pooler, type PoolerOptions } from '../support/postgres/pooler.ts';
import { CUT_ALL, runSql } from '../support/postgres/run-sql.ts';

/*
 * Invariant: what stands between a store and its database changes nothing: stores of several schemas stay apart, whatever
 * connection they are lent, and who cannot work that way says so at once.
 */

/** What poolers are told to pass over, so that clients which ask for it get on at all. */
const LENIENT = ['options', 'statement_timeout', 'idle_in_transaction_session_timeout'];

async function startPooler(options: PoolerOptions): Promise<{ url: string; pooler: Pooler }> {
  const url = await freshDatabase();
  const pooler = await Pooler.start(url, options);
  onTestFinished(() => pooler.close());
  return { url, pooler };
}

async function open(url: string): Promise<Store> {
  const store = await openDatabase(url, { connections: 3 });
  onTestFinished(() => store.close());
  return store;
}

async function say(store: Store, text: string): Promise<ContextId> {
  const { id } = await store.contexts.create({ title: text, labels: [text] });
  for (let nth = 0; nth < 5; nth += 1) {
    await store.contexts.append(id, { type: 'note', payload: `${text} ${nth}` });
  }
  return id;
}

async function textsOf(store: Store): Promise<string[]> {
  const { items } = await store.contexts.list();
  const pages = await Promise.all(items.map(({ id }) => store.contexts.last(id, 100)));
  return pages.flatMap(({ turns }) => turns.map((turn) => String(turn.payload)));
}

describe.each(['transaction', 'session'] as const)('behind a pooler of %ss', (lends) => {
  it('keeps stores of two schemas apart, though the pooler passes over what it does not know', async () => {
    const { url, pooler } = await startPooler({ lends, ignores: LENIENT });
    const [one, two] = [
      await open(`${pooler.url}?schema=one`),
      await open(`${pooler.url}?schema=two`),
    ];
    await Promise.all([say(one, 'one'), say(two, 'two'), say(one, 'one')]);
    for (const [store, text] of [
      [one, 'one'],
      [two, 'two'],
    ] as const) {
      const texts = await textsOf(store);
      expect(new Set(texts.map((each) => each.slice(0, 3)))).toEqual(new Set([text]));
    }
    const strays = `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`;
    expect(await runSql(url, strays)).toEqual([]);
  });

  it('asks the pooler for nothing that it would refuse', async () => {
    const { pooler } = await startPooler({ lends });
    const store = await open(pooler.url);
    const id = await say(store, 'all');
    expect(await textsOf(store)).toHaveLength(5);
    const inbox = await store.queues.open('inbox');
    expect(await inbox.push({ source: 'a', type: 'message', content: 'c' })).toBe(1);
    await store.contexts.remove(id);
    expect(await store.maintain.gc({ graceMs: 0 })).toMatchObject({ removedBlobs: 5 });
    expect((await store.maintain.verify()).ok).toBe(true);
  });

  it('says at once what the pooler refuses, and what to do', async () => {
    const { pooler } = await startPooler({ lends });
    const started = performance.now();
    const wish = encodeURIComponent('-c work_mem=8MB');
    const opened = openDatabase(`${pooler.url}?options=${wish}`, {});
    await expect(opened).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      data: { what: 'pooler', found: 'unsupported startup parameter: options' },
      message: expect.stringMatching(/ignore_startup_parameters/) as unknown,
    });
    // Twenty seconds are for servers that are away.
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

it('would be mixed up if the greeting alone named the schema', async () => {
  const { url, pooler } = await startPooler({ ignores: LENIENT });
  for (const schema of ['one', 'two']) {
    await runSql(url, `CREATE SCHEMA ${schema}`);
    const client = new Client({
      connectionString: pooler.url,
      options: `-c search_path=${schema}`,
    });
    await client.connect();
    await client.query('CREATE TABLE IF NOT EXISTS notes (text text)');
    await client.query(`INSERT INTO notes VALUES ('${schema}')`);
    await client.end();
  }
  expect(await runSql(`${url}?schema=public`, 'SELECT text FROM notes')).toHaveLength(2);
});

describe('a pooler that loses prepared statements', () => {
  it('is told what it must do', async () => {
    const { pooler } = await startPooler({ keepsStatements: false });
    const store = openDatabase(pooler.url, { connections: 3 }).then(async (opened) => {
      onTestFinished(() => opened.close());
      await say(opened, 'one');
    });
    await expect(store).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      data: { what: 'pooler' },
      message: expect.stringMatching(/max_prepared_statements/) as unknown,
    });
  });

  it('never has a statement of one store carried out for another', async () => {
    const { url, pooler } = await startPooler({ keepsStatements: false });
    const rounds = async (work: () => Promise<unknown>): Promise<void> => {
      for (let nth = 0; nth < 12; nth += 1) await work().catch(() => undefined);
    };
    const databases = ['one', 'two'].map(
      (schema) => new Database(`${pooler.url}?schema=${schema}`),
    );
    for (const [at, schema] of ['one', 'two'].entries()) {
      onTestFinished(() => databases[at]!.close());
      await runSql(url, `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.notes (text text)`);
    }
    const put = { name: 'put', text: 'INSERT INTO quipu.notes VALUES ($1)' };
    await rounds(() => databases[0]!.query(put, ['one']));
    await rounds(() => databases[1]!.query(put, ['two']));
    const texts = (schema: string): Promise<unknown> =>
      runSql(`${url}?schema=${schema}`, 'SELECT DISTINCT text FROM notes');
    expect([await texts('one'), await texts('two')]).toEqual([
      [{ text: 'one' }],
      [{ text: 'two' }],
    ]);
  });

  it('would do that for statements that have the same name', async () => {
    const { url, pooler } = await startPooler({ keepsStatements: false });
    for (const schema of ['one', 'two']) {
      await runSql(url, `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.notes (text text)`);
      const client = new Client({ connectionString: pooler.url });
      await client.connect();
      const text = `INSERT INTO ${schema}.notes VALUES ($1)`;
      // As soon as it was prepared once the client believes that it is.
      for (let nth = 0; nth < 12; nth += 1) {
        await client.query({ name: 'put', text, values: [schema] }).catch(() => undefined);
      }
      await client.end();
    }
    const strays = await runSql(url, `SELECT text FROM one.notes WHERE text <> 'one'`);
    expect(strays.length).toBeGreaterThan(0);
  });
});

describe('a pooler that is led to another database', () => {
  it.each(['transaction', 'session'] as const)(
    'of %ss is found out before a commit',
    async (lends) => {
      const { url, pooler } = await startPooler({ lends });
      const store = await open(pooler.url);
      const id = await say(store, 'here');
      const elsewhere = await freshDatabase();
      const other = await open(elsewhere);
      await say(other, 'elsewhere');
      await pooler.pointTo(elsewhere);
      if (lends === 'session') await runSql(url, CUT_ALL);
      const append = store.contexts.append(id, { type: 'note', payload: 'stray' });
      await expect(append).rejects.toMatchObject({ code: 'UNSUPPORTED', data: { what: 'store' } });
      expect(await textsOf(other)).not.toContain('stray');
    },
  );
});
