import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation';
import * as vitest from 'vitest';
import { QuipuSaver } from '../../src/adapters/langgraph.ts';
import { AT, METADATA, checkpointOf, openFolder, put, setUp, valuesAt } from './langgraph-rig.ts';

const { describe, expect, it } = vitest;

// The suite of LangGraph expects the names of vitest to be global.
Object.assign(globalThis, vitest);

const folders = new Map<QuipuSaver, () => Promise<void>>();

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
