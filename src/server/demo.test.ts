import { expect, it } from 'vitest';
import { createStore } from '../store/create-store.ts';
import { ModelEngine } from '../testing/model-engine.ts';
import { ESSAY, fillDemo, writeSlowly } from './demo.ts';

it('shows branches, sharing, patches and a cut-off answer, the same each time', async () => {
  const tell = async (): Promise<unknown> => {
    await using store = createStore(new ModelEngine({ clock: () => 1 }), { clock: () => 1 });
    const demo = await fillDemo(store);
    const { items } = await store.contexts.list();
    expect(demo.contexts).toBe(items.length);
    const stats = await store.maintain.stats();
    expect(stats.sharingRatio * stats.compressionRatio).toBeGreaterThan(2);
    expect(stats.sharingRatio).toBeGreaterThan(1.2);
    const turns = [];
    for (const { id } of items) turns.push(...(await store.contexts.last(id, 100)).turns);
    expect(turns.some(({ patched }) => patched)).toBe(true);
    expect(turns.some(({ tombstone }) => tombstone)).toBe(true);
    expect(turns.some(({ outcome }) => outcome === 'aborted')).toBe(true);
    expect((await store.maintain.verify()).ok).toBe(true);
    return JSON.stringify({ items, turns }, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
  };
  expect(await tell()).toBe(await tell());
});

it('leaves a store alone that has anything in it', async () => {
  await using store = createStore(new ModelEngine({}));
  await store.blobs.put(Buffer.from('mine'));
  await expect(fillDemo(store)).rejects.toMatchObject({ code: 'INVALID' });
  expect((await store.contexts.list()).items).toEqual([]);
});

it('streams an answer to its end, or as far as it got', async () => {
  await using store = createStore(new ModelEngine({}));
  const { live } = await fillDemo(store);
  const ended = new AbortController();
  await writeSlowly(store, live, { signal: ended.signal, pauseMs: 0 });
  expect((await store.contexts.last(live, 1)).turns[0]).toMatchObject({ payload: ESSAY });
  const writing = writeSlowly(store, live, { signal: ended.signal });
  ended.abort();
  await writing;
  expect((await store.contexts.last(live, 1)).turns[0]).toMatchObject({ outcome: 'aborted' });
});
