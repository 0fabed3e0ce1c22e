import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
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

interface Writing {
  readonly engine: Engine;
  readonly context: ContextId;
  readonly acknowledged: string[];
  readonly signal: AbortSignal;
}

/** Appends until `signal` ends it, and notes what was acknowledged. */
async function write(
  { engine, context, acknowledged, signal }: Writing,
  name: string,
): Promise<void> {
  for (let nth = 0; !signal.aborted; nth += 1) {
    await append(engine, context, `${name} ${nth}`);
    acknowledged.push(`${name} ${nth}`);
  }
}

/** A server that is started on a busy machine may take longer than the 20 s for which a commit waits by itself. */
const PATIENCE_MS = 120_000;

describe('writers', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    // Commits are synced here: what is acknowledged must survive a kill.
    server = await PostgresServer.start({ durable: true });
  });
  afterAll(() => server.dispose());

  /** `some` resolves when a few more appends were acknowledged. */
  async function writeThrough(
    trouble: (url: string, some: () => Promise<void>) => Promise<void>,
  ): Promise<Wrong> {
    const url = await server.createDatabase();
    const engine = await openPostgresEngine(url, { connections: 4, patienceMs: PATIENCE_MS });
    const { id: context } = await createContext(engine);
    const done = new AbortController();
    const acknowledged: string[] = [];
    const writing = { engine, context, acknowledged, signal: done.signal };
    const writers = Promise.all(['a', 'b', 'c', 'd'].map((name) => write(writing, name)));
    const some = async (): Promise<void> => {
      const wanted = acknowledged.length + 8;
      const more = vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(wanted), {
        timeout: PATIENCE_MS,
      });
      // A writer that fails is told at once.
      await Promise.race([more, writers]);
    };
    try {
      await trouble(url, some);
    } finally {
      done.abort();
    }
    await writers;
    const stored = await readTexts(engine, context);
    await engine.close();
    return findWrong(acknowledged, stored);
  }

  it('lose and double nothing when connections are cut again and again', async () => {
    const wrong = await writeThrough(async (url, some) => {
      for (let cuts = 0; cuts < 6; cuts += 1) {
        await some();
        await runSql(url, CUT_ALL);
      }
    });
    expect(wrong).toEqual({ lost: [], doubled: [] });
  });

  it('lose and double nothing when the server is killed and restarted', async () => {
    const wrong = await writeThrough(async (_, some) => {
      for (const end of ['kill', 'stop'] as const) {
        await some();
        await server[end]();
        await server.start();
      }
      await some();
    });
    expect(wrong).toEqual({ lost: [], doubled: [] });
  }, 300_000);

  it('would be found out if they did', () => {
    expect(findWrong(['a', 'b'], ['a'])).toEqual({ lost: ['b'], doubled: [] });
    expect(findWrong(['a'], ['a', 'a'])).toEqual({ lost: [], doubled: ['a'] });
  });
});
