import { describe, expect, it } from 'vitest';
import { QuipuSaver } from '../../src/adapters/langgraph.ts';
import { AT, put, setUp, valuesAt } from './langgraph-rig.ts';
import type { Values } from './langgraph-rig.ts';

describe('two forks from one checkpoint', () => {
  it('read back as two branches, with their writes, also by a second saver', async () => {
    const { store, saver } = await setUp();
    const root = await put(saver, AT, { messages: ['a'], n: 0 });
    let [left, right] = [root, root];
    const expected: [typeof AT, Values][] = [];
    for (let n = 1; n <= 5; n += 1) {
      const list = Array.from({ length: n }, (_, i) => i + 1);
      left = await put(saver, left, { messages: ['a', ...list.map((i) => `l${i}`)], n });
      right = await put(saver, right, { messages: ['a', ...list.map((i) => `r${i}`)], n: -n });
      await saver.putWrites(left, [['messages', [`w${n}`]]], 'left');
      await saver.putWrites(right, [['messages', [`w${-n}`]]], 'right');
      expected.push([left, { messages: ['a', ...list.map((i) => `l${i}`)], n }]);
      expected.push([right, { messages: ['a', ...list.map((i) => `r${i}`)], n: -n }]);
    }
    for (const reader of [saver, new QuipuSaver(store)]) {
      for (const [at, values] of expected) expect(await valuesAt(reader, at)).toEqual(values);
      expect((await reader.getTuple(left))?.pendingWrites).toEqual([['left', 'messages', ['w5']]]);
      expect((await reader.getTuple(right))?.pendingWrites).toEqual([
        ['right', 'messages', ['w-5']],
      ]);
    }
    // One context for each branch, and one for the writes.
    expect((await store.contexts.list({ namePrefix: 'langgraph/' })).items).toHaveLength(3);
    await saver.deleteThread('t/1%');
    expect((await store.contexts.list()).items).toEqual([]);
    expect(await saver.getTuple(right)).toBeUndefined();
    expect(await new QuipuSaver(store).getTuple(right)).toBeUndefined();
  });

  it('written by two savers at the same time lose nothing', async () => {
    const { store, saver } = await setUp();
    const other = new QuipuSaver(store);
    const root = await put(saver, AT, { messages: ['a'] });
    const puts = Array.from({ length: 12 }, (_, i) =>
      put(i % 2 === 0 ? saver : other, root, { messages: ['a', `b${i}`] }),
    );
    for (const [i, at] of (await Promise.all(puts)).entries()) {
      expect(await valuesAt(saver, at)).toEqual({ messages: ['a', `b${i}`] });
      expect(await valuesAt(other, at)).toEqual({ messages: ['a', `b${i}`] });
    }
  });
});

it.each<[type: string, payload: unknown]>([
  ['note', 'of somebody'],
  ['langgraph.checkpoint', null],
  ['langgraph.checkpoint', { id: 'x', values: [5] }],
  ['langgraph.checkpoint', { id: 'x', values: [['n', 5]] }],
  ['langgraph.writes', null],
  ['langgraph.writes', { checkpoint: 'x', task: 't', writes: [[0, 'n']] }],
  ['langgraph.branch', 'none'],
])('turns of others, such as %s with %j, are passed over', async (type, payload) => {
  const { store, saver } = await setUp();
  const at = await put(saver, AT, { n: 1 });
  await saver.putWrites(at, [['n', 2]], 'task');
  for (const { id } of (await store.contexts.list()).items)
    await store.contexts.append(id, { type, payload });
  const next = await put(saver, at, { n: 3 });
  for (const reader of [saver, new QuipuSaver(store)]) {
    expect(await valuesAt(reader, AT)).toEqual({ n: 3 });
    expect(await valuesAt(reader, next)).toEqual({ n: 3 });
    expect((await reader.getTuple(at))?.pendingWrites).toEqual([['task', 'n', 2]]);
  }
  // Who knows the thread still finds the branches that others make.
  await put(new QuipuSaver(store), at, { n: 4 });
  expect(await valuesAt(saver, AT)).toEqual({ n: 4 });
});

describe('branches that others make', () => {
  it.each([3, 12])('are found, all %i of them, also behind one that was removed', async (count) => {
    const { store, saver } = await setUp();
    const other = new QuipuSaver(store);
    const root = await put(saver, AT, { n: 0 });
    expect(await valuesAt(other, AT)).toEqual({ n: 0 });
    for (let n = 1; n <= count; n += 1) {
      await put(saver, await put(saver, root, { n: -n }), { n });
      await saver.putWrites(root, [['n', n]], `task${n}`);
      expect(await valuesAt(other, AT)).toEqual({ n });
      expect((await other.getTuple(root))?.pendingWrites).toHaveLength(n);
    }
    const late = new QuipuSaver(store);
    expect(await valuesAt(late, AT)).toEqual({ n: count });
    const gone = await put(saver, root, { n: 13 });
    const kept = await put(saver, root, { n: 14 });
    const { id } = (await store.contexts.byName(`langgraph/t%2F1%25//${count}`))!;
    await store.contexts.remove(id);
    expect(await valuesAt(late, kept)).toEqual({ n: 14 });
    expect(await valuesAt(late, gone)).toBeUndefined();
    expect(await valuesAt(late, AT)).toEqual({ n: 14 });
  });
});

describe('a branch that a dead process left without a turn', () => {
  it('is found by all when a checkpoint takes it', async () => {
    const { store, saver } = await setUp();
    const other = new QuipuSaver(store);
    const root = await put(saver, AT, { n: 0 });
    const { head: base } = (await store.contexts.byName('langgraph/t%2F1%25//0'))!;
    await put(saver, root, { n: 1 });
    await saver.putWrites(root, [['n', 1]], 'task');
    expect(await valuesAt(other, AT)).toEqual({ n: 1 });
    await store.contexts.create({ name: 'langgraph/t%2F1%25//1', kind: 'langgraph', base });
    expect(await valuesAt(other, AT)).toEqual({ n: 1 });
    await put(new QuipuSaver(store), root, { n: 2 });
    expect(await valuesAt(other, AT)).toEqual({ n: 2 });
    expect(await store.contexts.byName('langgraph/t%2F1%25//2')).toBeUndefined();
  });
});

describe('a thread that another saver deletes', () => {
  it('is gone for all of them, and may begin again', async () => {
    const { store, saver } = await setUp();
    const other = new QuipuSaver(store);
    const first = await put(saver, AT, { messages: ['a'] });
    await saver.putWrites(first, [['messages', ['w']]], 'task');
    expect((await other.getTuple(AT))?.pendingWrites).toHaveLength(1);
    await saver.deleteThread('t/1%');
    expect(await other.getTuple(AT)).toBeUndefined();
    const again = await put(saver, AT, { messages: ['b'] });
    expect(await valuesAt(other, AT)).toEqual({ messages: ['b'] });
    expect((await other.getTuple(AT))?.pendingWrites).toEqual([]);
    expect(await valuesAt(other, first)).toBeUndefined();
    await put(other, again, { messages: ['b', 'c'] });
    expect(await valuesAt(saver, AT)).toEqual({ messages: ['b', 'c'] });
  });
});
