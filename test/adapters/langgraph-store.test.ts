import { InMemoryStore } from '@langchain/langgraph-checkpoint';
import type { BaseStore, Item, SearchItem } from '@langchain/langgraph-checkpoint';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { QuipuStore } from '../../src/adapters/langgraph.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';

async function setUp(): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-memory-'));
  const store = await openStore(folder);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

const ANN = ['users', 'ann'];
const BOB = ['users', 'b/ob%'];

/** What an item is, but for its times. */
const toShape = (item: Item | null): unknown =>
  item && { namespace: item.namespace, key: item.key, value: item.value };

const toShapes = (items: readonly SearchItem[]): unknown[] => items.map(toShape);

/** Does what an agent does with its memory, and returns what it was told. */
async function useMemory(memory: BaseStore): Promise<unknown[]> {
  const told: unknown[] = [toShape(await memory.get(ANN, 'food'))];
  await memory.put(ANN, 'food', { likes: 'soup', count: 1, nested: { a: [1, null] } });
  await memory.put(ANN, 'town', { name: 'Lima', count: 2 });
  await memory.put(BOB, 'food', { likes: 'fish', count: 3 });
  await memory.put([...ANN, 'work'], 'desk', { count: 4 });
  await memory.put(['docs'], 'a', { count: 5 });
  told.push(toShape(await memory.get(BOB, 'food')), toShape(await memory.get(BOB, 'town')));
  const filters = [
    { likes: 'soup' },
    { count: { $gt: 1, $lte: 3 } },
    { count: { $gte: 2, $lt: 4 } },
    { likes: { $ne: 'soup' } },
    { likes: { $eq: 'fish' }, count: 3 },
    { count: { $in: [1, 4] } },
    { count: { $nin: [1, 4] } },
    { count: { $unknown: 1 } },
    { missing: undefined },
  ];
  for (const filter of filters) told.push(toShapes(await memory.search(['users'], { filter })));
  for (const at of [{}, { limit: 2 }, { limit: 2, offset: 1 }, { query: 'soup' }]) {
    told.push(toShapes(await memory.search(['users'], at)));
  }
  for (const at of [
    {},
    { prefix: ['users'] },
    { suffix: ['work'] },
    { prefix: ['*', 'ann'] },
    { prefix: ['users'], suffix: ['*', 'work'] },
    { maxDepth: 1 },
    { maxDepth: 2, limit: 2, offset: 1 },
  ]) {
    told.push(await memory.listNamespaces(at));
  }
  await memory.put(ANN, 'food', { likes: 'rice' });
  const results: unknown[] = await memory.batch([
    { namespace: ANN, key: 'town' },
    { namespace: ANN, key: 'food', value: { likes: 'first' } },
    { namespace: ANN, key: 'food', value: { likes: 'last' } },
    { namespace: BOB, key: 'food', value: null },
    { namespacePrefix: BOB },
  ]);
  told.push(toShape(results[0] as Item), toShapes(results[4] as SearchItem[]));
  told.push(toShape(await memory.get(ANN, 'food')), toShape(await memory.get(BOB, 'food')));
  await memory.delete(ANN, 'town');
  await memory.delete(ANN, 'never there');
  told.push(toShapes(await memory.search(ANN)));
  return told;
}

describe('the long-term memory of LangGraph', () => {
  it('gives the same answers as the store of LangGraph in memory', async () => {
    const store = await setUp();
    const expected = await useMemory(new InMemoryStore());
    expect(await useMemory(new QuipuStore(store))).toEqual(expected);
    expect(toShapes(await new QuipuStore(store).search(ANN))).toEqual(expected.at(-1));
    expect(await new QuipuStore(store, { prefix: 'other' }).search(ANN)).toEqual([]);
  });

  it('keeps when an item was made and changed, and one value of two that are put at once', async () => {
    const store = await setUp();
    const [one, other] = [new QuipuStore(store), new QuipuStore(store)];
    await one.put(ANN, 'food', { likes: 'soup' });
    const made = (await other.get(ANN, 'food'))!;
    expect(made.updatedAt.getTime()).toBeGreaterThan(0);
    await expect.poll(() => Date.now()).toBeGreaterThan(made.updatedAt.getTime());
    await Promise.all([
      one.put(ANN, 'food', { likes: 'rice' }),
      other.put(ANN, 'food', { likes: 'fish' }),
    ]);
    // A batch reads before it writes.
    const [before] = await one.batch([
      { namespace: ANN, key: 'food' },
      { namespace: ANN, key: 'food', value: null },
    ]);
    expect(toShape(await one.get(ANN, 'food'))).toBeNull();
    const changed = before!;
    expect(['rice', 'fish']).toContain(changed.value['likes']);
    expect(changed.createdAt).toEqual(made.createdAt);
    expect(changed.updatedAt.getTime()).toBeGreaterThan(made.updatedAt.getTime());
    await one.put(ANN, 'food', changed.value);
    const [context] = (await store.contexts.list({ kind: 'langgraph-store' })).items;
    expect(context?.name).toBe('langgraph-store/users/ann/food');
    await expect(one.put(ANN, 'long', { text: 'x'.repeat(70_000) })).rejects.toMatchObject({
      code: 'TOO_LARGE',
    });
  });
});
