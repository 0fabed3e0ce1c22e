import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ContextId } from '../../src/base/brand.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openPostgresEngine } from '../../src/engine/postgres/postgres-engine.ts';
import { append, createContext } from '../../src/testing/engine-suite/fixture.ts';
import { CUT_ALL, runSql } from '../support/postgres/run-sql.ts';
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
        await runSql(url, CUT_ALL);
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
