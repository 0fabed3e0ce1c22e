import { describe, expect, it, onTestFinished } from 'vitest';
import { createStore } from '../../src/store/create-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';

// Invariant: a document that is no chat, however it is made, is INVALID, takes memory in proportion to its own size, and
// leaves nothing behind.

const MB = 1024 * 1024;
const EVENT = {
  schema_version: 1,
  seq: 1,
  event_id: 'e',
  at: '2026-11-15T00:00:00.000Z',
  type: 'x',
};

function nested(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level += 1) value = { value };
  return value;
}

const around = (events: string): string =>
  `{"quipu_chat":1,"meta":{"session_id":"c1"},"events":[${events}]}`;
const around1 = (payload: string): string =>
  around(JSON.stringify({ ...EVENT, payload: {} }).replace('"payload":{}', `"payload":${payload}`));

const BOMBS: Readonly<Record<string, () => string | object>> = {
  'millions of brackets': () => '['.repeat(2 * MB),
  'brackets for events': () => around('['.repeat(MB) + ']'.repeat(MB)),
  'lists for events': () =>
    around(
      Array(2 * MB)
        .fill('[]')
        .join(','),
    ),
  'a payload of lists': () =>
    around1(
      `{"a":[${Array(2 * MB)
        .fill('[]')
        .join(',')}]}`,
    ),
  'a deep payload': () => around1(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`),
  'a deep payload that was parsed': () => ({
    quipu_chat: 1,
    meta: { session_id: 'c1' },
    events: [{ ...EVENT, payload: nested(100_000) }],
  }),
  'a deep document about it': () => ({
    quipu_chat: 1,
    meta: { session_id: 'c1', title: nested(100_000) },
    events: [],
  }),
  'a payload that holds itself': () => {
    const payload: Record<string, unknown> = {};
    payload['self'] = payload;
    return { quipu_chat: 1, meta: { session_id: 'c1' }, events: [{ ...EVENT, payload }] };
  },
};

function openStore(): Store {
  const store = createStore(new ModelEngine({}));
  onTestFinished(() => store.close());
  return store;
}

describe('a document that is to burst the import of a chat', () => {
  it.each(Object.keys(BOMBS))('is refused: %s', async (name) => {
    const store = openStore();
    const bomb = BOMBS[name]!();
    const before = process.memoryUsage().heapUsed;
    const importing = store.chats.import(bomb as string);
    await expect(importing).rejects.toMatchObject({ name: 'QuipuError', code: 'INVALID' });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(60 * MB);
    expect((await store.chats.list()).items).toEqual([]);
  });

  it('is told from a large chat', async () => {
    const store = openStore();
    const events = Array.from({ length: 2000 }, (_, at) => ({
      ...EVENT,
      seq: at + 1,
      type: 'message_added',
      payload: { message_id: `m${at}`, role: 'user', content: 'said', usage: { in: [1, 2, 3] } },
    }));
    const document = JSON.stringify({ quipu_chat: 1, meta: { session_id: 'c1' }, events });
    expect(await store.chats.import(document)).toMatchObject({ events: 2000 });
    expect((await (await store.chats.open('c1')).messages({ limit: 1 })).messages).toMatchObject([
      { id: 'm1999' },
    ]);
  });
});
