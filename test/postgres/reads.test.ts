import { Client } from 'pg';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import type { ContextId } from '../../src/base/brand.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreSchemas } from '../support/postgres/store-schemas.ts';

// What a read asks of the database: a statement is a round trip, and for a short page that is its price.

const schemas = new StoreSchemas();

afterEach(() => {
  vi.restoreAllMocks();
});

async function openEngine(): Promise<Engine> {
  const engine = await schemas.open();
  onTestFinished(() => engine.close());
  return engine;
}

async function fill(store: Store, turns: number): Promise<ContextId> {
  const { id } = await store.contexts.create();
  for (let nth = 0; nth < turns; nth += 1) {
    await store.contexts.append(id, { type: 'note', payload: `text ${nth}` });
  }
  return id;
}

/** The payloads of the newest 20 turns, and the statements that were sent for them. */
async function readLast(store: Store, id: ContextId): Promise<[unknown[], number]> {
  const query = vi.spyOn(Client.prototype, 'query');
  const { turns } = await store.contexts.last(id, 20);
  const sent = query.mock.calls.length;
  query.mockRestore();
  return [turns.map(({ payload }) => payload), sent];
}

const TEXTS = Array.from({ length: 20 }, (_, nth) => `text ${nth + 5}`);

it('asks once for the last turns with their payloads', async () => {
  const store = createStore(await openEngine());
  const id = await fill(store, 25);
  expect(await readLast(store, id)).toEqual([TEXTS, 1]);
  // Now they are at hand, and it is asked whether they are still there.
  expect(await readLast(store, id)).toEqual([TEXTS, 1]);
});

it('would ask four times record by record', async () => {
  const engine = await openEngine();
  const slow: Engine = new Proxy(engine, {
    get(target, name) {
      if (name === 'readLast') return undefined;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const store = createStore(slow);
  const id = await fill(store, 25);
  expect(await readLast(store, id)).toEqual([TEXTS, 4]);
});

it('shows patches, roots, payloads in parts and what was erased as other reads do', async () => {
  const store = createStore(await openEngine());
  const { contexts } = store;
  const id = await fill(store, 4);
  const large = 'x'.repeat(600_000);
  const big = await contexts.append(id, { type: 'note', payload: large });
  const [first, second, third] = (await contexts.last(id, 9)).turns;
  await contexts.patch(first!.id, 'patched');
  await contexts.tombstone(second!.id, 'wrong');
  await contexts.erase(third!.id, { reason: 'private' });
  const { turns } = await contexts.last(id, 9);
  const alone = await Promise.all(turns.map((turn) => contexts.turn(turn.id)));
  expect(turns.map((turn) => turn.toJSON())).toEqual(alone.map((turn) => turn!.toJSON()));
  expect(turns.at(-1)).toMatchObject({ id: big.id, payload: large });
});
