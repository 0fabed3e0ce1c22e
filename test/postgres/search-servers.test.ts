import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OpenOptions } from '../../src/open-store.ts';
import { Database } from '../../src/postgres/database.ts';
import type { IndexPage } from '../../src/search/contract/search-index.ts';
import { PostgresIndex } from '../../src/search/postgres/postgres-index.ts';
import type { Store } from '../../src/store/store.ts';
import { ask, idsOf, say } from '../../src/testing/search-suite/fixture.ts';
import { killSearcher } from '../support/killed-searcher.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { Pooler } from '../support/postgres/pooler.ts';
import { runSql } from '../support/postgres/run-sql.ts';
import { SearchSchemas } from '../support/postgres/search-schemas.ts';

/*
 * Invariants: however many servers share an index, each document is in it once. A server that died or stands still stops
 * the others for the time of a lease. Nothing that was erased comes back.
 */

const schemas = new SearchSchemas();
const STATE = 'SELECT next_doc, documents, generation FROM search_state';
const DIED = `UPDATE search_state SET expires_at = clock_timestamp() WHERE holder IS NOT NULL`;

async function open(options: OpenOptions = {}): Promise<{ store: Store; url: string }> {
  const store = await schemas.open(options);
  onTestFinished(() => store.close());
  return { store, url: schemas.urlOf(store) };
}

async function openBeside(url: string, options: OpenOptions = {}): Promise<Store> {
  const store = await schemas.openAt(url, options);
  onTestFinished(() => store.close());
  return store;
}

function schemaOf(url: string): string {
  return new URL(url).searchParams.get('schema') ?? '';
}

/** The index alone, as a server has it. */
function openIndex(url: string): PostgresIndex {
  const database = new Database(url, { connections: 2 });
  onTestFinished(() => database.close());
  return new PostgresIndex(database, '');
}

async function stateOf(url: string): Promise<Record<string, number>> {
  const [row = {}] = await runSql(url, STATE);
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)]));
}

function pageOf(ref: string, text: string): IndexPage {
  const about = { kind: 'context', type: 'm', depth: 1, at: 0, tools: [] };
  return {
    source: 'context',
    changes: [{ put: { ...about, thread: '1', ref, texts: [text] } }],
    marks: [],
    progress: { done: 1, total: 1 },
    isLast: true,
  };
}

const wish = { isUrgent: () => false, signal: new AbortController().signal };

describe('servers that share an index', () => {
  it('index each document once, and read their own writes', async () => {
    const { store, url } = await open();
    const other = await openBeside(url);
    const work = [store, other].map(async (server, nth) => {
      const found: number[] = [];
      for (let n = 0; n < 4; n += 1) {
        await say(server, ...Array.from({ length: 5 }, (_, at) => `shared word${nth}x${n}x${at}`));
        found.push((await ask(server, `word${nth}x${n}*`)).hits.length);
      }
      return found;
    });
    expect(await Promise.all(work)).toEqual([
      [5, 5, 5, 5],
      [5, 5, 5, 5],
    ]);
    expect(new Set(await idsOf(other, 'shared')).size).toBe(40);
    expect(await stateOf(url)).toMatchObject({ next_doc: 41, documents: 40 });
  });

  it('refuse the page of one that lost its lease', async () => {
    const { store, url } = await open();
    await say(store, 'here');
    await ask(store, 'here');
    const [late, quick] = [openIndex(url), openIndex(url)];
    const outcome = late.hold(wish, async () => {
      await runSql(url, DIED);
      await quick.hold(wish, async () => (await quick.apply(pageOf('7', 'seven'))) === 0);
      await late.apply(pageOf('7', 'seven'));
      return true;
    });
    await expect(outcome).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await stateOf(url)).toMatchObject({ documents: 2 });
    // One that has its lease still is let in: the rig would see it.
    await late.hold(wish, async () => (await late.apply(pageOf('8', 'eight'))) === 0);
    expect(await stateOf(url)).toMatchObject({ documents: 3 });
  });

  it('wait for one that stands still no longer than its lease', async () => {
    const { store, url } = await open();
    await say(store, 'known');
    await ask(store, 'known');
    const holdFor = (time: string): Promise<unknown> =>
      runSql(
        url,
        `UPDATE search_state SET holder = '00000000-0000-0000-0000-000000000001', done = 7, total = 9,
          expires_at = clock_timestamp() + interval '${time}'`,
      );
    await holdFor('1 hour');
    await say(store, 'known, too');
    const answer = await store.search('known', { waitMs: 300, timeMs: 10_000 });
    expect(answer.hits).toHaveLength(1);
    expect(answer.index).toMatchObject({ upToDate: false, done: 7, total: 9 });
    await holdFor('300 milliseconds');
    expect((await ask(store, 'known')).hits).toHaveLength(2);
  });

  it('catch up wherever one of them is killed', async () => {
    const { store, url } = await open();
    await ask(store, 'nothing');
    for (const word of ['first', 'second', 'third']) {
      await killSearcher(url, word);
      await runSql(url, DIED);
    }
    const { turns } = await store.maintain.stats();
    const found = await idsOf(store, 'first OR second OR third', { limit: 100 });
    expect(new Set(found).size).toBe(turns);
    expect(found).toHaveLength(turns);
    expect(await stateOf(url)).toMatchObject({ documents: turns });
  });

  it('let an erasure go first', async () => {
    const { store, url } = await open();
    const { turns } = await say(store, 'it is qzxjerased here', 'and more');
    expect(await idsOf(store, 'qzxjerased')).toHaveLength(1);
    const builder = openIndex(url);
    let isDone = false;
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const building = builder.hold(wish, async (held) => {
      begin();
      while (!held.isWanted) {
        await builder.apply({ ...pageOf('', ''), changes: [] });
        await sleep(20);
      }
      expect(isDone).toBe(false);
      return false;
    });
    await begun;
    await store.contexts.erase(BigInt(turns[0] ?? 0), { reason: 'asked to' });
    isDone = true;
    expect(await building).toBe(false);
    expect(await runSql(url, 'SELECT id FROM search_docs')).toHaveLength(1);
    expect(await runSql(url, 'SELECT server FROM search_erasures')).toEqual([]);
  });

  it('begin the index again after one that died while it erased', async () => {
    const { store, url } = await open();
    await say(store, 'still here');
    await ask(store, 'still');
    const { generation = 0 } = await stateOf(url);
    await runSql(url, `INSERT INTO search_erasures VALUES (gen_random_uuid(), clock_timestamp())`);
    expect((await ask(store, 'still')).hits).toHaveLength(1);
    expect(await stateOf(url)).toMatchObject({ generation: generation + 1, documents: 1 });
    expect(await runSql(url, 'SELECT server FROM search_erasures')).toEqual([]);
  });

  it('leave an index to those whose extractors made it', async () => {
    const extractors = { report: () => 'extracted title' };
    const { store, url } = await open({ search: { extractors } });
    const plain = await openBeside(url);
    const { id } = await store.contexts.create();
    await store.contexts.append(id, { type: 'report', payload: 'extracted and raw' });
    expect(await idsOf(store, 'title')).toHaveLength(1);
    const answer = await plain.search('extracted', { timeMs: 10_000 });
    expect(answer.hits).toHaveLength(1);
    expect(answer.index.upToDate).toBe(false);
    expect(await idsOf(store, 'raw')).toEqual([]);
  });

  it('empty it when one that does not search erases something', async () => {
    const { store, url } = await open();
    const { turns } = await say(store, 'to be erased', 'to be kept');
    await ask(store, 'erased');
    const off = await openBeside(url, { search: false });
    await expect(off.search('kept')).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    await off.contexts.erase(BigInt(turns[0] ?? 0), { reason: 'asked to' });
    // The server that searches may have begun to fill it again, with new numbers.
    expect(await runSql(url, 'SELECT id FROM search_docs WHERE id <= 2')).toEqual([]);
    expect(await idsOf(store, 'erased OR kept')).toEqual([turns[1]]);
  });

  it('keep the sessions of other machines, and do not show them', async () => {
    const { store, url } = await open();
    await ask(store, 'anything');
    const index = openIndex(url);
    const page = { ...pageOf('1', 'said elsewhere'), source: 'session' };
    await index.hold(wish, async () => (await index.apply({ ...page, marks: [['1', 'x']] })) === 0);
    await runSql(
      url,
      `UPDATE search_names SET name = 'session elsewhere' WHERE name LIKE 'session %'`,
    );
    expect((await ask(store, 'elsewhere', { facets: true })).matches).toBe(0);
    expect(await stateOf(url)).toMatchObject({ documents: 1 });
  });
});

describe('an index in a database', () => {
  it('is built again with progress', async () => {
    const { store, url } = await open();
    await say(store, 'one', 'two');
    await ask(store, 'one');
    const { generation = 0 } = await stateOf(url);
    const told: [number, number][] = [];
    await store.maintain.reindex((done, total) => told.push([done, total]));
    expect(told.length).toBeGreaterThan(0);
    for (const [done, total] of told) expect(done).toBeLessThanOrEqual(total);
    expect(await stateOf(url)).toMatchObject({ generation: generation + 1, documents: 2 });
  });

  it('is begun by the first search alone', async () => {
    const url = `${await freshDatabase()}?schema=untouched`;
    const store = await openBeside(url);
    const { turns } = await say(store, 'one', 'two');
    await store.contexts.erase(BigInt(turns[0] ?? 0), { reason: 'asked to' });
    // The tables are made with the store, whose later users may have no right to make any. They stay empty.
    const index = `SELECT begun, (SELECT count(*)::int FROM search_docs) AS rows FROM search_state`;
    expect(await runSql(url, index)).toEqual([{ begun: false, rows: 0 }]);
    expect(await idsOf(store, 'two')).toEqual([turns[1]]);
    expect(await runSql(url, index)).toEqual([{ begun: true, rows: 1 }]);
  });

  it('answers behind a pooler', async () => {
    const { store, url } = await open();
    await say(store, 'pooled');
    const pooler = await Pooler.start(url.split('?')[0] ?? '');
    onTestFinished(() => pooler.close());
    const pooled = await openBeside(`${pooler.url}?schema=${schemaOf(url)}`);
    expect((await ask(pooled, 'pooled')).hits).toHaveLength(1);
  });

  it('answers in time, whatever holds its tables', async () => {
    const { store, url } = await open();
    await say(store, 'held');
    await ask(store, 'held');
    const client = new Client({ connectionString: url.split('?')[0] });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query(`BEGIN; LOCK ${schemaOf(url)}.search_docs IN ACCESS EXCLUSIVE MODE`);
    const answer = await store.search('held', { waitMs: 100, timeMs: 100 });
    expect(answer).toMatchObject({ ranked: 'time', hits: [] });
    await client.query('COMMIT');
    expect((await ask(store, 'held')).hits).toHaveLength(1);
  });
});
