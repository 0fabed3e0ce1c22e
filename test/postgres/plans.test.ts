import { Client } from 'pg';
import { afterEach, expect, it, vi } from 'vitest';
import { toTurnId } from '../../src/base/brand.ts';
import { openPostgresEngine } from '../../src/engine/postgres/postgres-engine.ts';
import {
  append,
  appendLines,
  blobOf,
  createContext,
  openTurn,
  patchTurn,
  sealTurn,
} from '../../src/testing/engine-suite/fixture.ts';
import { Ears, sweep } from '../../src/testing/engine-suite/upkeep-fixture.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

// Every statement that an engine sends is caught, and its plan looked at: where an index can be used, one
// is. Small tables are read through whatever the indexes, so that is forbidden for the look.

afterEach(() => {
  vi.restoreAllMocks();
});

/** They have one row, or a few, or are read to their end by design. */
const SMALL =
  /on (?:clock|servers|open_turns|uploads|pg_\w+|unnest|n|w|found|walk|climb|pair|c|context)\b/;
/** Collections empty a table; checks and statistics read what there is. */
const WHOLE = new Set(['drop-notes', 'drop-changes', 'stats', 'forget-servers', 'drop-uploads']);

async function catchStatements(url: string): Promise<Map<string, string>> {
  const statements = new Map<string, string>();
  const query = vi.spyOn(Client.prototype, 'query');
  const engine = await openPostgresEngine(url, { connections: 3 });
  engine.subscribe(() => undefined);
  const { id } = await createContext(engine, { meta: { kind: 'k', labels: ['l'] } });
  const one = await append(engine, id, 'one', { fsRoot: (await put(engine)).hash });
  const key = { context: id, key: 'k' };
  const { turns } = await engine.commit({
    idempotency: key,
    turns: [{ context: id, type: 't', version: 1, encoding: 3, payload: one.payload!, size: 3 }],
  });
  const open = await openTurn(engine, id);
  await engine.commit({ deltas: [{ turn: open.id, offset: 0, bytes: Buffer.from('x') }] });
  await engine.getOpenTurn(open.id);
  await sealTurn(engine, open.id, 'x');
  const patch = await patchTurn(engine, one.id, 'patched');
  await appendLines(engine, 'logs/a', '1', '2');
  await engine.commit({ docs: [{ name: 'out/d.json', content: '{}', publish: true }] });
  await engine.putBlob({ chunks: once(new Uint8Array(600_000)), sha256: true });
  await engine.findBySha256(blobOf('').hash);
  await Promise.all([
    engine.getTurn(one.id),
    engine.walkBack(open.id, 9),
    engine.readLast(id, 9, 1000),
    engine.ancestorAt(open.id, 1),
    engine.commonAncestor(one.id, turns[0]!.id),
    engine.getHead(id),
    engine.getContext(id),
    engine.listContexts({ limit: 9 }),
    engine.listContexts({ limit: 9, kind: 'k' }),
    engine.listContexts({ limit: 9, label: 'l' }),
    engine.getPatches([one.id]),
    engine.getMany({ contexts: [id], turns: [one.id], patches: [patch.seq] }),
    engine.getFsRoots([one.id]),
    engine.tips(),
    engine.getLog('logs/a'),
    engine.readLog('logs/a', 0, 9),
    engine.listLogs('', 9),
    engine.getDoc('d.json'),
    engine.listDocs('', 9),
    engine.stats(),
    engine.getBlob(one.payload!),
    engine.statBlob(one.payload!),
    engine.listBlobs('ab', 9),
  ]);
  const ears = new Ears();
  await sweep(await ears.start(engine, 0), ears, { blobs: ['one'], turns: [toTurnId(1)] });
  await engine.upkeep.eraseLines('logs/a', [{ line: 0, text: '2' }]);
  await engine.upkeep.eraseBlob(one.payload!);
  await engine.upkeep.records.turns(toTurnId(1), 9);
  await engine.upkeep.records.patches(1, 9);
  await engine.close();
  for (const [given] of query.mock.calls as unknown[][]) {
    const config = given as { name?: string; text?: string };
    if (config.name !== undefined && config.text !== undefined)
      // Without what the name tells of the text.
      statements.set(config.name.replace(/-[0-9a-f]{12}$/, ''), config.text);
  }
  return statements;
}

async function put(engine: Awaited<ReturnType<typeof openPostgresEngine>>) {
  return engine.putBlob({ chunks: once(Buffer.from('tree')) });
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The lines of a plan that read a table through. */
async function scansOf(client: Client, text: string): Promise<string[]> {
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${text}`);
  const lines = rows.map((row) => row['QUERY PLAN'].trim());
  return lines.filter((line) => line.includes('Seq Scan') && !SMALL.test(line));
}

it('uses an index for every statement', async () => {
  const url = await freshDatabase();
  const statements = await catchStatements(url);
  expect(statements.size).toBeGreaterThan(50);
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('SET enable_seqscan = off');
    const found: string[] = [];
    for (const [name, text] of statements) {
      if (WHOLE.has(name)) continue;
      for (const scan of await scansOf(client, text)) found.push(`${name}: ${scan}`);
    }
    expect(found).toEqual([]);
    // One that has no index to use is found out.
    expect(await scansOf(client, 'SELECT nth FROM quipu.log_lines WHERE line = $1')).toHaveLength(
      1,
    );
  } finally {
    await client.end();
  }
});
