import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Client } from 'pg';
import type { ContextId } from '../../src/base/brand.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openPostgresEngine } from '../../src/engine/postgres/open-postgres-engine.ts';
import { openStore } from '../../src/open-store.ts';
import { Database } from '../../src/postgres/database.ts';
import { append, createContext } from '../../src/testing/engine-suite/fixture.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { PostgresServer } from '../support/postgres/postgres-server.ts';

/**
 * Invariant: whatever happens to the server and the connections, every append that was acknowledged is
 * there, and every append is there once at most. What failed has a stable code, and the next call works.
 */
interface Wrong {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
}

function findWrong(acknowledged: readonly string[], stored: readonly string[]): Wrong {
  return {
    lost: acknowledged.filter((text) => !stored.includes(text)),
    doubled: stored.filter((text, at) => stored.indexOf(text) !== at),
  };
}

async function readTexts(engine: Engine, context: ContextId): Promise<string[]> {
  const head = await engine.getHead(context);
  const rows = await engine.walkBack(head!.head, 10_000);
  const blobs = await Promise.all(rows.map((row) => engine.getBlob(row.payload!)));
  return blobs.map((bytes) => Buffer.from(bytes!).toString());
}

/** Appends until `signal` ends it, and notes what was acknowledged. */
async function write(
  engine: Engine,
  context: ContextId,
  name: string,
  signal: AbortSignal,
): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let nth = 0; !signal.aborted; nth += 1) {
    await append(engine, context, `${name} ${nth}`);
    acknowledged.push(`${name} ${nth}`);
  }
  return acknowledged;
}

async function run(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url, options: '-c search_path=quipu' });
  client.on('error', () => undefined);
  await client.connect();
  await client.query(sql);
  await client.end();
}

const CUT_ALL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;

describe('writers', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    // Commits are synced here: what is acknowledged must survive a kill.
    server = await PostgresServer.start({ durable: true });
  });
  afterAll(() => server.dispose());

  async function writeThrough(trouble: (url: string) => Promise<void>): Promise<Wrong> {
    const url = await server.createDatabase();
    const engine = await openPostgresEngine(url, { connections: 4 });
    const { id } = await createContext(engine);
    const done = new AbortController();
    const writing = ['a', 'b', 'c', 'd'].map((name) => write(engine, id, name, done.signal));
    try {
      await trouble(url);
    } finally {
      done.abort();
    }
    const acknowledged = (await Promise.all(writing)).flat();
    const stored = await readTexts(engine, id);
    expect(acknowledged.length).toBeGreaterThan(8);
    await engine.close();
    return findWrong(acknowledged, stored);
  }

  it('lose and double nothing when connections are cut again and again', async () => {
    const wrong = await writeThrough(async (url) => {
      for (let cuts = 0; cuts < 6; cuts += 1) {
        await new Promise((resolve) => setTimeout(resolve, 80));
        await run(url, CUT_ALL);
      }
    });
    expect(wrong).toEqual({ lost: [], doubled: [] });
  });

  it('lose and double nothing when the server is killed and restarted', async () => {
    const wrong = await writeThrough(async () => {
      for (const end of ['kill', 'stop'] as const) {
        await new Promise((resolve) => setTimeout(resolve, 150));
        await server[end]();
        await server.start();
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    expect(wrong).toEqual({ lost: [], doubled: [] });
  });

  it('would be found out if they did', () => {
    expect(findWrong(['a', 'b'], ['a'])).toEqual({ lost: ['b'], doubled: [] });
    expect(findWrong(['a'], ['a', 'a'])).toEqual({ lost: [], doubled: ['a'] });
  });
});

describe('a database', () => {
  it('that goes read-only refuses writes, answers reads, and takes writes again later', async () => {
    const url = await freshDatabase();
    const { pathname } = new URL(url);
    const engine = await openPostgresEngine(url);
    const { id } = await createContext(engine);
    await run(url, `ALTER DATABASE ${pathname.slice(1)} SET default_transaction_read_only = on`);
    await run(url, CUT_ALL);
    await expect(append(engine, id, 'refused')).rejects.toMatchObject({ code: 'READ_ONLY' });
    expect(await engine.getHead(id)).toMatchObject({ head: 0n });
    const reader = await openPostgresEngine(url);
    expect(await reader.getHead(id)).toBeDefined();
    await reader.close();
    const elsewhere = inject('postgresUrl');
    await run(elsewhere, `ALTER DATABASE ${pathname.slice(1)} RESET default_transaction_read_only`);
    await run(url, CUT_ALL);
    expect(await append(engine, id, 'taken')).toMatchObject({ id: 1n });
    await engine.close();
  });

  it('that does not know the password says so, and the password is not repeated', async () => {
    const url = new URL(await freshDatabase());
    url.password = 'very-secret';
    const error = (await openStore(url.href).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(JSON.stringify(error) + error.message).not.toContain('very-secret');
    const wrong = await openStore('postgres://user:very-secret@[bad/x').catch((e: unknown) => e);
    expect(wrong).toMatchObject({ code: 'INVALID' });
    expect(String((wrong as Error).message)).not.toContain('very-secret');
  });

  it('with tables from the future is left alone', async () => {
    const url = await freshDatabase();
    await (await openPostgresEngine(url)).close();
    await run(url, `INSERT INTO migrations (part, version) VALUES ('store', 99)`);
    await expect(openPostgresEngine(url)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      data: { found: '99' },
    });
  });

  it('that is not there, or does not answer, is told apart', async () => {
    const url = new URL(await freshDatabase());
    url.pathname = '/nowhere';
    await expect(openPostgresEngine(url.href)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    url.port = '1';
    await expect(openPostgresEngine(url.href, { patienceMs: 50 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    await expect(
      openPostgresEngine(await freshDatabase(), { create: false }),
    ).rejects.toMatchObject({ code: 'NOT_FOUND', data: { what: 'store' } });
  });

  it('whose connections are all in use says so, and goes on when one is free', async () => {
    const database = new Database(await freshDatabase(), { connections: 1, connectMs: 100 });
    let free = (): void => undefined;
    const held = database.read(async (sql) => {
      await sql.query('SELECT 1');
      await new Promise<void>((resolve) => (free = resolve));
    });
    await expect(database.query('SELECT 1')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      data: { what: 'connection' },
    });
    free();
    await held;
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.close();
  });

  it('in which a statement takes too long says so, and nothing of it is there', async () => {
    const url = await freshDatabase();
    const patient = await openPostgresEngine(url);
    const { id } = await createContext(patient);
    await patient.close();
    const engine = await openPostgresEngine(url, { statementMs: 1000 });
    const holder = new Client({ connectionString: url, options: '-c search_path=quipu' });
    await holder.connect();
    await holder.query('BEGIN; SELECT * FROM clock FOR UPDATE');
    await expect(append(engine, id, 'late')).rejects.toMatchObject({
      code: 'TIMEOUT',
      data: { afterMs: 1000 },
    });
    await holder.query('ROLLBACK');
    await holder.end();
    expect(await append(engine, id, 'next')).toMatchObject({ id: 1n, depth: 0 });
    await engine.close();
  });
});
