import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { Database } from '../../src/postgres/database.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
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

it.each([2 ** 50, 600_000, 10])(
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
