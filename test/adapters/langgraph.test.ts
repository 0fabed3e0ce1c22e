import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import type { Checkpoint, CheckpointMetadata } from '@langchain/langgraph-checkpoint';
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vitest from 'vitest';
import { QuipuSaver } from '../../src/adapters/langgraph.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';

const { describe, expect, it, onTestFinished } = vitest;

// The suite of LangGraph expects the names of vitest to be global.
Object.assign(globalThis, vitest);

const folders = new Map<QuipuSaver, () => Promise<void>>();

async function openFolder(): Promise<{ store: Store; folder: string; close: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-langgraph-'));
  const store = await openStore(folder);
  const close = async (): Promise<void> => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { store, folder, close };
}

const INITIALIZER = {
  checkpointerName: 'quipudb/langgraph',
  async createCheckpointer(): Promise<QuipuSaver> {
    const { store, close } = await openFolder();
    const saver = new QuipuSaver(store);
    folders.set(saver, close);
    return saver;
  },
  async destroyCheckpointer(saver: QuipuSaver): Promise<void> {
    await folders.get(saver)?.();
    folders.delete(saver);
  },
};

validate(INITIALIZER);
deltaChannelHistoryTests(INITIALIZER);

const METADATA: CheckpointMetadata = { source: 'loop', step: 0, parents: {} };
const AT = { configurable: { thread_id: 't/1%', checkpoint_ns: '' } };

type Values = Record<string, unknown>;

function checkpointOf(values: Values, version = 1): Checkpoint {
  const channel_versions = Object.fromEntries(Object.keys(values).map((key) => [key, version]));
  return { ...emptyCheckpoint(), id: uuid6(0), channel_values: values, channel_versions };
}

async function setUp(): Promise<{ store: Store; saver: QuipuSaver }> {
  const { store, close } = await openFolder();
  onTestFinished(close);
  return { store, saver: new QuipuSaver(store) };
}

async function put(saver: QuipuSaver, at: typeof AT, values: Values): Promise<typeof AT> {
  const checkpoint = checkpointOf(values);
  const versions = checkpoint.channel_versions;
  return (await saver.put(at, checkpoint, METADATA, versions)) as typeof AT;
}

const valuesAt = async (saver: QuipuSaver, at: typeof AT): Promise<unknown> =>
  (await saver.getTuple(at))?.checkpoint.channel_values;

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

describe('a growing list', () => {
  const message = (n: number): string => `${n}: ${'text '.repeat(200)}${n}`;

  it('is stored once, however its elements come and go', async () => {
    const { store, saver } = await setUp();
    const lists = [[1, 2, 3], [1, 2, 3, 4], [2, 3, 4], [2, 9, 4], [], [4, 4, 4], [2, 9, 4, 1]];
    let at = AT;
    const seen: (typeof AT)[] = [];
    for (const list of lists)
      seen.push((at = await put(saver, at, { messages: list.map(message) })));
    const { blobs } = await store.maintain.stats();
    for (const reader of [saver, new QuipuSaver(store)]) {
      for (const [i, list] of lists.entries()) {
        expect(await valuesAt(reader, seen[i]!)).toEqual({ messages: list.map(message) });
      }
    }
    // Five different messages, and a record for each checkpoint.
    expect(blobs).toBe(5 + lists.length);
  });

  it('is told from one whose text begins alike, and from one that was changed in place', async () => {
    const { store, saver } = await setUp();
    const changing: { text: string }[] = [{ text: 'a' }, { text: 'b' }];
    const lists: unknown[][] = [
      [],
      [1],
      [1],
      [12],
      [12, 3],
      [12, 34],
      [1, 2, 34],
      [[1], 2],
      [[1, 2]],
    ];
    lists.push([[1], 2], ['a,"b'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'b']);
    let at = AT;
    const seen: [typeof AT, unknown][] = [];
    const keep = async (messages: unknown[]): Promise<void> => {
      at = await put(saver, at, { messages });
      seen.push([at, structuredClone(messages)]);
    };
    for (const list of lists) await keep(list);
    await keep(changing);
    changing[0]!.text = 'c';
    await keep(changing);
    changing.push({ text: 'd' });
    await keep(changing);
    for (const reader of [saver, new QuipuSaver(store)]) {
      for (const [where, messages] of seen)
        expect(await valuesAt(reader, where)).toEqual({ messages });
    }
  });

  it('may have elements of any class, changed in place', async () => {
    const { store, saver } = await setUp();
    class Counter {
      #count = 0;
      add(): void {
        this.#count += 1;
      }
      toJSON(): unknown {
        return { count: this.#count };
      }
    }
    const [counter, date, map] = [new Counter(), new Date(0), new Map([['a', 1]])];
    const [message, bytes] = [new AIMessage({ content: 'a', id: 'm' }), new Uint8Array([1])];
    const loop: { self?: unknown; n: number } = { n: 0 };
    loop.self = loop;
    const own = { n: 0, toJSON: () => `${date.getTime()}` };
    const odd = Object.assign(Object.create(null) as object, { constructor: Object, n: 0 });
    const all = [counter, { date }, [map], message, bytes, loop, own, odd, [[1], 2], undefined];
    const seen: [typeof AT, unknown][] = [];
    let at = AT;
    for (let n = 1; n <= 3; n += 1) {
      at = await put(saver, at, { messages: [...all] });
      // What the official saver would give back.
      const [type, dumped] = await saver.serde.dumpsTyped(all.map((item) => [item]));
      const read = (await saver.serde.loadsTyped(type, dumped)) as unknown[][];
      seen.push([at, { messages: read.map(([item], i) => (i === 4 ? bytes.slice() : item)) }]);
      counter.add();
      date.setTime(n);
      map.set('a', n + 1);
      message.content = `b${n}`;
      bytes.fill(n + 1);
      loop.n = n;
      Object.assign(odd, { n });
      all[8] = n === 1 ? [[1, 2]] : [[1], 2, n];
    }
    for (const reader of [saver, new QuipuSaver(store)]) {
      for (const [where, values] of seen) expect(await valuesAt(reader, where)).toEqual(values);
    }
  });

  it('serialises no element again that did not change, wherever it stands', async () => {
    const { saver } = await setUp();
    const dump = vitest.vi.spyOn(saver.serde, 'dumpsTyped');
    const message = (n: number): HumanMessage =>
      new HumanMessage({ content: `text ${n}`, id: `${n}` });
    const list = Array.from({ length: 100 }, (_, n) => message(n));
    let at = await put(saver, AT, { messages: list });
    const edits = [
      [...list, message(100)],
      [...list.slice(1), message(100)],
      [...list.slice(1, 50), message(0), ...list.slice(51), message(100)],
    ];
    for (const edit of edits) {
      dump.mockClear();
      // A run of a graph makes its messages anew, from what it has read.
      at = await put(saver, at, { messages: edit.map(({ id }) => message(Number(id))) });
      // The checkpoint, its metadata, and one element: compared from the start, from the end, and stored.
      expect(dump.mock.calls.length).toBeLessThanOrEqual(5);
      const read = (await valuesAt(saver, at)) as { messages: HumanMessage[] };
      expect(read.messages.map(({ id }) => id)).toEqual(edit.map(({ id }) => id));
    }
  });

  it('keeps what a collection of garbage must not take', async () => {
    const { store, saver } = await setUp();
    const first = await put(saver, AT, { messages: [message(1)] });
    const left = await put(saver, first, { messages: [message(1), message(2)] });
    const right = await put(saver, first, { messages: [message(1), message(3)] });
    await store.maintain.gc({ graceMs: 0 });
    const reader = new QuipuSaver(store);
    expect(await valuesAt(reader, left)).toEqual({ messages: [message(1), message(2)] });
    expect(await valuesAt(reader, right)).toEqual({ messages: [message(1), message(3)] });
  });

  it('takes more elements than one append does', async () => {
    const { store, saver } = await setUp();
    const messages = Array.from({ length: 10_500 }, (_, n) => `${n}${'x'.repeat(260)}`);
    const at = await put(saver, AT, { messages });
    const next = await put(saver, at, { messages: [...messages, 'end'] });
    expect(await valuesAt(new QuipuSaver(store), next)).toEqual({ messages: [...messages, 'end'] });
  });
});

describe('a value of bytes', () => {
  it('stays as it was when the caller changes what was given or read', async () => {
    const { store, saver } = await setUp();
    const image = new Uint8Array(1000).fill(7);
    const at = await put(saver, AT, { image });
    image.fill(8);
    const read = (await valuesAt(saver, at)) as { image: Uint8Array };
    expect(read).toEqual({ image: new Uint8Array(1000).fill(7) });
    read.image.fill(9);
    for (const reader of [saver, new QuipuSaver(store)]) {
      expect(await valuesAt(reader, at)).toEqual({ image: new Uint8Array(1000).fill(7) });
    }
  });
});

describe('branches that others make', () => {
  // A few are looked up one by one, many are listed.
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

describe('an erased record', () => {
  it('is told of by the checkpoints that build on it, and lets the thread go on', async () => {
    const { store, saver } = await setUp();
    const first = await put(saver, AT, { messages: ['a'], kept: 1 });
    const second = await put(saver, first, { messages: ['a', 'b'], kept: 1 });
    const [branch] = (await store.contexts.list({ namePrefix: 'langgraph/' })).items;
    const [record] = (await store.contexts.last(branch!.id, 2)).turns;
    await store.contexts.tombstone(record!.id, 'private');
    const reader = new QuipuSaver(store);
    await expect(reader.getTuple(second)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const third = await put(reader, second, { messages: ['c'], kept: 1 });
    expect(await valuesAt(new QuipuSaver(store), third)).toEqual({ messages: ['c'], kept: 1 });
  });
});

describe('the records of a thread', () => {
  it('are read as they were first defined', async () => {
    const { store, saver } = await setUp();
    const text = JSON.stringify('long '.repeat(100));
    const { id } = await store.contexts.create({
      name: 'langgraph/t%2F1%25//0',
      kind: 'langgraph',
    });
    const value = { type: 'langgraph.value', encoding: 'text', payload: text } as const;
    const checkpoint = `=${JSON.stringify({ ...checkpointOf({}), channel_values: undefined })}`;
    const record = { checkpoint, metadata: `=${JSON.stringify(METADATA)}` };
    const [stored] = await store.contexts.appendBatch(id, [
      value,
      {
        type: 'langgraph.checkpoint',
        payload: {
          ...record,
          id: '1',
          full: true,
          values: [
            ['list', [0, 0, '=1', '=2', '=3']],
            ['n', '=1'],
            ['gone', '=1'],
          ],
        },
      },
    ]);
    const changes = [
      ['list', [1, 1, `json:${stored!.payloadHash}`]],
      ['gone', null],
    ];
    await store.contexts.append(id, {
      type: 'langgraph.checkpoint',
      payload: { ...record, id: '2', parent: '1', full: false, values: changes },
    });
    const log = await store.contexts.create({ name: 'langgraph/t%2F1%25//writes' });
    const writes = [[0, 'list', [0, 0, '=4']]];
    await store.contexts.append(log.id, {
      type: 'langgraph.writes',
      payload: { checkpoint: '2', task: 'task', writes },
    });
    const tuple = await saver.getTuple(AT);
    expect(tuple?.checkpoint.channel_values).toEqual({ list: [1, JSON.parse(text), 3], n: 1 });
    expect(tuple?.pendingWrites).toEqual([['task', 'list', [4]]]);
    const at = { configurable: { ...AT.configurable, checkpoint_id: '1' } };
    expect(await valuesAt(saver, at)).toEqual({ list: [1, 2, 3], n: 1, gone: 1 });
  });
});

describe('unusual state', () => {
  it('may have a channel that is called like a part of every object', async () => {
    const { saver } = await setUp();
    const at = await put(saver, AT, { n: 0 });
    await saver.putWrites(
      at,
      [
        ['constructor', 1],
        ['toString', 2],
      ],
      'task',
    );
    expect((await saver.getTuple(at))?.pendingWrites).toEqual([
      ['task', 'constructor', 1],
      ['task', 'toString', 2],
    ]);
  });
});
