import { describe, expect, it } from 'vitest';
import { toTurnId } from '../../base/brand.ts';
import type { Contexts } from '../../context/contexts.ts';
import { createStore } from '../../store/create-store.ts';
import { ModelEngine } from '../../testing/model-engine.ts';
import { newestFirst } from './newest-first.ts';

type Reads = Pick<Contexts, 'turn' | 'before'>;

/** Counts what is read. */
function counting(contexts: Reads): Reads & { readonly counts: { reads: number; turns: number } } {
  const counts = { reads: 0, turns: 0 };
  return {
    counts,
    async turn(...given) {
      counts.reads += 1;
      counts.turns += 1;
      return contexts.turn(...given);
    },
    async before(...given) {
      const page = await contexts.before(...given);
      counts.reads += 1;
      counts.turns += page.turns.length;
      return page;
    },
  };
}

const idsOf = async (turns: AsyncIterable<{ readonly id: bigint }>): Promise<number[]> => {
  const ids: number[] = [];
  for await (const { id } of turns) ids.push(Number(id));
  return ids;
};

const ALL = { limit: Infinity, payload: false };

describe('the turns of many branches', () => {
  it('come newest first, each once', async () => {
    await using store = createStore(new ModelEngine({}));
    const { contexts } = store;
    const main = await contexts.create();
    for (let n = 1; n <= 3; n += 1) await contexts.append(main.id, { type: 'n', payload: n });
    const fork = await contexts.fork(2);
    for (let n = 4; n <= 5; n += 1) await contexts.append(fork.id, { type: 'n', payload: n });
    await contexts.append(main.id, { type: 'n', payload: 6 });
    await contexts.fork(5);
    await contexts.create({ title: 'empty' });
    const branches = (await contexts.list()).items;
    expect(branches).toHaveLength(4);
    expect(await idsOf(newestFirst(contexts, branches, ALL))).toEqual([6, 5, 4, 3, 2, 1]);
    expect(await idsOf(newestFirst(contexts, branches, { ...ALL, limit: 2 }))).toEqual([6, 5]);
  });

  it('are read as far as they are shown', async () => {
    await using store = createStore(new ModelEngine({}));
    const { contexts } = store;
    const main = await contexts.create();
    await contexts.appendBatch(
      main.id,
      Array.from({ length: 500 }, (_, n) => ({ type: 'n', payload: n })),
    );
    for (let n = 1; n <= 100; n += 1) {
      const fork = await contexts.fork(n);
      await contexts.append(fork.id, { type: 'n', payload: n });
    }
    const { items } = await contexts.list({ limit: 200 });
    const some = counting(contexts);
    expect(await idsOf(newestFirst(some, items, { ...ALL, limit: 10 }))).toHaveLength(10);
    expect(some.counts).toEqual({ reads: 10, turns: 10 });
    const every = counting(contexts);
    expect(await idsOf(newestFirst(every, items, ALL))).toHaveLength(600);
    // One read for each head, and one for each page of the way that all share.
    expect(every.counts.reads).toBeLessThan(120 + 100);
  });

  it('go on when a context is removed, or its head moves, while they are read', async () => {
    await using store = createStore(new ModelEngine({}));
    const { contexts } = store;
    const main = await contexts.create();
    for (let n = 1; n <= 4; n += 1) await contexts.append(main.id, { type: 'n', payload: n });
    const fork = await contexts.fork(4);
    const turns = newestFirst(contexts, [{ id: fork.id, head: toTurnId(4) }], ALL);
    expect((await turns.next()).value).toMatchObject({ id: 4n });
    await contexts.remove(fork.id);
    expect(await idsOf(turns)).toEqual([3, 2, 1]);
    const gone = [{ id: main.id, head: toTurnId(99) }];
    expect(await idsOf(newestFirst(contexts, gone, ALL))).toEqual([]);
  });
});
