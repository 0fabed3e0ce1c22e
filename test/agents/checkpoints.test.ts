import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ValueCodec } from '../../src/agents/checkpoints/checkpoint.ts';
import { Checkpoints } from '../../src/agents/checkpoints/checkpoints.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { checkpointSuite } from '../support/checkpoint-suite.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-checkpoints-'));
  folders.push(folder);
  return folder;
}

checkpointSuite('a folder', async () => {
  const folder = freshFolder();
  // The second one goes through the owner of the folder, as another process does.
  return { store: await openStore(folder), again: () => openStore(folder) };
});

let store: Store;
let checkpoints: Checkpoints;
beforeEach(async () => {
  store = await openStore(freshFolder());
  checkpoints = new Checkpoints(store);
  onTestFinished(() => store.close());
});

/** The payloads of the records of a branch, oldest first. */
async function records(name: string): Promise<{ readonly values: unknown }[]> {
  const { id } = (await store.contexts.byName(name))!;
  const { turns } = await store.contexts.range(id, 0, 1000);
  const ours = turns.filter(({ type }) => type === 'agent.checkpoint');
  return ours.map(({ payload }) => payload as { readonly values: unknown });
}

const MESSAGE = 'a message '.repeat(100);

describe('what a checkpoint costs', () => {
  it('is nothing for a value that stays, and an element for a list that grows', async () => {
    const lists = [
      ['a', MESSAGE],
      ['a', MESSAGE],
      ['a', MESSAGE, 'b'],
      ['a', 'b'],
    ];
    for (const messages of lists) await checkpoints.save('t', { values: { messages, MESSAGE } });
    const found = (await records('checkpoints/t/0')).slice(1).map(({ values }) => values);
    expect(found).toEqual([[], [['messages', [2, 0, '="b"']]], [['messages', [1, 1]]]]);
    // One message, and a record for each checkpoint.
    expect((await store.maintain.stats()).blobs).toBe(1 + lists.length);
  });

  it('is no look at values that the caller knows to be the same', async () => {
    const encoded: unknown[] = [];
    const codec: ValueCodec = {
      encode(value) {
        encoded.push(value);
        return ['json', Buffer.from(JSON.stringify(value))];
      },
      decode: (_, text) => JSON.parse(String(text)) as unknown,
    };
    const mine = new Checkpoints(store, { codec, kind: 'mine', prefix: 'mine' });
    await mine.save('t', { values: { a: 1, b: 2 } });
    encoded.length = 0;
    await mine.save('t', { values: { a: 'not seen', b: 3, c: 4 }, changed: ['b'] });
    // A name that is new is stored in any case.
    expect(encoded).toEqual([3, 4]);
    expect((await mine.get('t'))?.values).toEqual({ a: 1, b: 3, c: 4 });
    expect((await store.contexts.byName('mine/t/0'))?.kind).toBe('mine');
  });

  it('is bounded by the store alone: long lists, long names, long values', async () => {
    const messages = Array.from({ length: 6000 }, (_, n) => `${n}${'x'.repeat(260)}`);
    const long = 'y'.repeat(200_000);
    const name = 'n'.repeat(100_000);
    await checkpoints.save('t', { values: { messages, long, [name]: 1 } });
    await checkpoints.save('t', { values: { messages: [...messages, 'end'], long, [name]: 2 } });
    const read = await new Checkpoints(store).get('t');
    expect(read?.values).toEqual({ messages: [...messages, 'end'], long, [name]: 2 });
  });
});

describe('a codec', () => {
  it('keeps what JSON does not', async () => {
    class Money {
      readonly #cents: number;
      constructor(cents: number) {
        this.#cents = cents;
      }
      toJSON(): unknown {
        return { cents: this.#cents };
      }
    }
    const codec: ValueCodec = {
      encode: async (value) =>
        value instanceof Date
          ? ['date', Buffer.from(value.toISOString())]
          : ['json', Buffer.from(JSON.stringify(value))],
      decode(form, bytes) {
        const text = Buffer.from(bytes as Uint8Array).toString();
        return form === 'date' ? new Date(text) : (JSON.parse(text) as unknown);
      },
    };
    const date = new Date(5);
    const money = [new Money(1), new Money(2)];
    const mine = new Checkpoints(store, { codec });
    await mine.save('t', { values: { date, list: [date, 1, ...money] } });
    const list = [new Date(5), 1, { cents: 1 }, { cents: 2 }];
    for (const reader of [mine, new Checkpoints(store, { codec })])
      expect((await reader.get('t'))?.values).toEqual({ date, list });
    // Their fields are private, so only the bytes tell them apart.
    await mine.save('t', { values: { date, list: [date, 1, new Money(3), money[1]] } });
    expect((await mine.get('t'))?.values['list']).toEqual([
      ...list.slice(0, 2),
      { cents: 3 },
      list[3],
    ]);
  });
});

describe('ids', () => {
  it('sort behind those that are there, whatever the clock says', async () => {
    const ahead = '7ZZZZZZZZ0ZZZZZZZZZZZZZZZZ';
    await checkpoints.save('t', { id: ahead, values: { n: 1 } });
    const [second, third] = [
      await checkpoints.save('t', { values: { n: 2 } }),
      await new Checkpoints(store).save('t', { values: { n: 3 } }),
    ];
    expect([third, second, ahead].toSorted()).toEqual([ahead, second, third]);
    const found = await checkpoints.get('t');
    expect(found).toMatchObject({ id: third, parent: second, values: { n: 3 } });
  });

  it('may be taken again: the later checkpoint counts', async () => {
    await checkpoints.save('t', { id: 'c', values: { n: 1 } });
    await checkpoints.save('t', { id: 'c', parent: null, values: { n: 2 } });
    for (const reader of [checkpoints, new Checkpoints(store)])
      expect((await reader.get('t'))?.values).toEqual({ n: 2 });
  });
});

describe('a thread', () => {
  it('goes on after a record was erased', async () => {
    const first = await checkpoints.save('t', { values: { n: 1, kept: MESSAGE } });
    const second = await checkpoints.save('t', { values: { n: 2, kept: MESSAGE } });
    const { head } = (await store.contexts.byName('checkpoints/t/0'))!;
    await store.contexts.tombstone(head, 'private');
    const reader = new Checkpoints(store);
    expect(await reader.get('t', second)).toBeUndefined();
    expect((await reader.get('t'))?.id).toBe(first);
    const third = await reader.save('t', { parent: second, values: { n: 3, kept: MESSAGE } });
    expect((await new Checkpoints(store).get('t', third))?.values).toEqual({ n: 3, kept: MESSAGE });
  });

  it('keeps its values when garbage is collected', async () => {
    const first = await checkpoints.save('t', { values: { list: [MESSAGE] } });
    await checkpoints.save('t', { values: { list: [MESSAGE, `${MESSAGE}2`] } });
    await checkpoints.save('t', { parent: first, values: { list: [MESSAGE, `${MESSAGE}3`] } });
    await store.maintain.gc({ graceMs: 0 });
    const found = [];
    for await (const { values } of new Checkpoints(store).list()) found.push(values['list']);
    expect(found).toEqual([[MESSAGE, `${MESSAGE}3`], [MESSAGE, `${MESSAGE}2`], [MESSAGE]]);
  });
});
