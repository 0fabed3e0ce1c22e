import { describe, expect, inject, it } from 'vitest';
import { Client } from 'pg';
import type { Engine } from '../../src/engine/engine.ts';
import { openPostgresEngine } from '../../src/engine/postgres/postgres-engine.ts';
import { openStore } from '../../src/open-store.ts';
import { Database, type DatabaseOptions } from '../../src/postgres/database.ts';
import { append, createContext } from '../../src/testing/engine-suite/fixture.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';
import { CUT_ALL, runSql } from '../support/postgres/run-sql.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { withChanges } from '../../src/testing/with-changes.ts';

/*
 * Invariant: whatever is wrong with a database has a stable code, changes nothing, and is over when its cause is. Each
 * scene is also played with something that gets it wrong, and must say so.
 */

type Open = (url: string, options?: DatabaseOptions) => Promise<Engine>;

describe('a database that goes read-only', () => {
  async function goReadOnly(open: Open): Promise<void> {
    const url = await freshDatabase();
    const database = new URL(url).pathname.slice(1);
    const engine = await open(url);
    try {
      const { id } = await createContext(engine);
      await runSql(url, `ALTER DATABASE ${database} SET default_transaction_read_only = on`);
      await runSql(url, CUT_ALL);
      await expect(append(engine, id, 'refused')).rejects.toMatchObject({ code: 'READ_ONLY' });
      expect(await engine.getHead(id)).toMatchObject({ head: 0n });
      const reader = await open(url);
      expect(await reader.getHead(id)).toBeDefined();
      await reader.close();
      const elsewhere = inject('postgresUrl');
      await runSql(elsewhere, `ALTER DATABASE ${database} RESET default_transaction_read_only`);
      await runSql(url, CUT_ALL);
      expect(await append(engine, id, 'taken')).toMatchObject({ id: 1n });
    } finally {
      await engine.close();
    }
  }

  it('refuses writes, answers reads, and takes writes again later', async () => {
    await expect(goReadOnly(openPostgresEngine)).resolves.toBeUndefined();
  });

  it('would show an engine that keeps to itself that nothing was written', async () => {
    const quiet: Open = async (url) => {
      const engine = await openPostgresEngine(url);
      let last: Awaited<ReturnType<Engine['commit']>> | undefined;
      return withChanges(engine, {
        commit: async (batch) => {
          last = await engine.commit(batch).catch((error: unknown) => {
            if (last === undefined) throw error;
            return last;
          });
          return last;
        },
      });
    };
    await expect(goReadOnly(quiet)).rejects.toThrow('READ_ONLY');
  });
});

describe('a database that does not know the password', () => {
  type OpenUrl = (url: string) => Promise<unknown>;

  async function comeWithWrongPassword(open: OpenUrl): Promise<void> {
    const url = new URL(await freshDatabase());
    url.password = 'very-secret';
    const error = (await open(url.href).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(JSON.stringify(error) + error.message).not.toContain('very-secret');
    const wrong = await open('postgres://user:very-secret@[bad/x').catch((e: unknown) => e);
    expect(wrong).toMatchObject({ code: 'INVALID' });
    expect(String((wrong as Error).message)).not.toContain('very-secret');
  }

  it('says so, and the password is not repeated', async () => {
    await expect(comeWithWrongPassword(openStore)).resolves.toBeUndefined();
  });

  it('would show one who repeats the address, and one who says no more than that it failed', async () => {
    const telling: OpenUrl = (url) =>
      openStore(url).catch((error: unknown) => {
        throw Object.assign(error as Error, { message: `cannot open ${url}` });
      });
    await expect(comeWithWrongPassword(telling)).rejects.toThrow('not to contain');
    const vague: OpenUrl = (url) =>
      openStore(url).catch((error: unknown) => {
        throw Object.assign(error as Error, { code: 'UNAVAILABLE' });
      });
    await expect(comeWithWrongPassword(vague)).rejects.toThrow('to match object');
  });
});

describe('a database with tables from the future', () => {
  async function comeFromThePast(open: Open): Promise<void> {
    const url = await freshDatabase();
    await (await openPostgresEngine(url)).close();
    await runSql(url, `INSERT INTO migrations (part, version) VALUES ('store', 99)`);
    const opened = open(url);
    await expect(opened.then((engine) => engine.close())).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      data: { found: '99' },
    });
    const found = await runSql(url, `SELECT max(version) AS version FROM migrations`);
    expect(found).toEqual([{ version: 99 }]);
  }

  it('is left alone', async () => {
    await expect(comeFromThePast(openPostgresEngine)).resolves.toBeUndefined();
  });

  it('would show an engine that makes them its own', async () => {
    const bold: Open = async (url) => {
      await runSql(url, 'DELETE FROM migrations WHERE version = 99');
      return openPostgresEngine(url);
    };
    await expect(comeFromThePast(bold)).rejects.toThrow('instead of rejecting');
    const meddling: Open = async (url) => {
      await runSql(url, "INSERT INTO migrations (part, version) VALUES ('other', 100)");
      return openPostgresEngine(url);
    };
    await expect(comeFromThePast(meddling)).rejects.toThrow('to deeply equal');
  });
});

it('a database that is not there, or does not answer, is told apart', async () => {
  const url = new URL(await freshDatabase());
  url.pathname = '/nowhere';
  await expect(openPostgresEngine(url.href)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  url.port = '1';
  await expect(openPostgresEngine(url.href, { patienceMs: 50 })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  await expect(openPostgresEngine(await freshDatabase(), { create: false })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    data: { what: 'store' },
  });
});

describe('a database whose connections are all in use', () => {
  type Make = (url: string, options: DatabaseOptions) => Database;

  async function useAll(make: Make): Promise<void> {
    const database = make(await freshDatabase(), { connections: 1, connectMs: 2000 });
    let free = (): void => undefined;
    let held = Promise.resolve();
    await new Promise<void>((hasOne) => {
      held = database.read(async () => {
        hasOne();
        await new Promise<void>((resolve) => (free = resolve));
      });
    });
    try {
      await expect(database.query('SELECT 1')).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        data: { what: 'connection' },
      });
      free();
      await held;
      expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      free();
      await held;
      await database.close();
    }
  }

  // Two seconds are short for a machine that stands still.
  it(
    'says so, and goes on when one is free',
    undisturbed(500, async () => {
      await expect(useAll((url, options) => new Database(url, options))).resolves.toBeUndefined();
    }),
  );

  it(
    'would show a pool that takes more than it was given',
    undisturbed(500, async () => {
      const greedy: Make = (url, options) => new Database(url, { ...options, connections: 2 });
      await expect(useAll(greedy)).rejects.toThrow('instead of rejecting');
    }),
  );
});

describe('a database in which a statement takes too long', () => {
  async function waitTooLong(open: Open): Promise<void> {
    const url = await freshDatabase();
    const patient = await openPostgresEngine(url);
    const { id } = await createContext(patient);
    await patient.close();
    const engine = await open(url, { statementMs: 2000 });
    const holder = new Client({ connectionString: url, options: '-c search_path=quipu' });
    await holder.connect();
    try {
      await holder.query('BEGIN; SELECT * FROM clock FOR UPDATE');
      await expect(append(engine, id, 'late')).rejects.toMatchObject({
        code: 'TIMEOUT',
        data: { afterMs: 2000 },
      });
      await holder.query('ROLLBACK');
      expect(await append(engine, id, 'next')).toMatchObject({ id: 1n, depth: 0 });
    } finally {
      await holder.end();
      await engine.close();
    }
  }

  it(
    'says so, and nothing of it is there',
    undisturbed(500, async () => {
      await expect(waitTooLong(openPostgresEngine)).resolves.toBeUndefined();
    }),
  );

  it(
    'would show an engine that tries again when it has said that it failed',
    undisturbed(500, async () => {
      const stubborn: Open = async (url, options) => {
        const engine = await openPostgresEngine(url, options);
        return withChanges(engine, {
          commit: async (batch) => {
            const first = engine.commit(batch);
            first.catch(() => engine.commit(batch)).catch(() => undefined);
            return first;
          },
        });
      };
      await expect(waitTooLong(stubborn)).rejects.toThrow('to match object');
    }),
  );
});
