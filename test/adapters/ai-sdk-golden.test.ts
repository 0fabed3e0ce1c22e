import type { UIMessage, UIMessageChunk } from 'ai';
import { expect, it } from 'vitest';
import type { PayloadEncoding } from '../../src/context/payloads/codecs.ts';
import type { Store } from '../../src/store/store.ts';
import { collect, setUp } from './ai-sdk-rig.ts';

// Stores that the adapter wrote before must stay readable, and what it writes stays the same: these names and bytes.

/** A context: its name and kind, and its turns as type, encoding and bytes. */
type Shown = [
  name: string,
  kind: string,
  turns: [type: string, encoding: PayloadEncoding, text: string][],
];

const QUESTION =
  '{"id":"u1","role":"user","metadata":{"b":1,"a":[null,"é"]},"parts":[{"type":"text","text":"q"}]}';
const ANSWER = '{"id":"a1","role":"assistant","parts":[{"type":"text","text":"one"}]}';
const EDITED = '{"id":"u2","role":"user","parts":[{"type":"text","text":"r"}]}';
const CHUNKS =
  '{"type":"start","messageId":"a1"}\n' +
  '{"type":"text-start","id":"t"}\n' +
  '{"type":"text-delta","id":"t","delta":" and\\n🏜"}\n' +
  '{"type":"text-end","id":"t"}\n' +
  '{"type":"finish"}\n';
const GROWN =
  '{"id":"a1","role":"assistant","parts":[{"type":"text","text":"one"},' +
  '{"type":"text","text":" and\\n🏜","state":"done"}]}';

const STORED: Shown[] = [
  [
    'ai-sdk/a%2Fb%25/main',
    'ai-sdk',
    [
      ['ai.message', 'json', QUESTION],
      ['ai.message', 'json', GROWN],
    ],
  ],
  [
    'ai-sdk/a%2Fb%25/BRANCH',
    'ai-sdk',
    [
      ['ai.message', 'json', QUESTION],
      ['ai.message', 'json', ANSWER],
      ['ai.message', 'json', EDITED],
    ],
  ],
];

const parsed = (...texts: string[]): UIMessage[] =>
  texts.map((text) => JSON.parse(text) as UIMessage);

async function show(store: Store): Promise<Shown[]> {
  const { items } = await store.contexts.list();
  const shown = items.map(async ({ id, name = '', kind = '' }): Promise<Shown> => {
    const { turns } = await store.contexts.last(id, 9);
    const rows = turns.map(({ type, encoding, bytes = '' }): Shown[2][number] => {
      return [type, encoding, Buffer.from(bytes).toString()];
    });
    return [name.replace(/\/(?!main$)[^/]+$/, '/BRANCH'), kind, rows];
  });
  return (await Promise.all(shown)).toSorted(([a], [b]) => (a < b ? 1 : -1));
}

it('the adapter writes these contexts and these bytes', async () => {
  const { store, chats } = await setUp();
  await chats.save('a/b%', parsed(QUESTION, ANSWER, EDITED));
  await chats.rewind('a/b%', 'u2');
  const lines = CHUNKS.split('\n').slice(1, -1);
  const chunks = lines.map((line) => JSON.parse(line) as UIMessageChunk);
  let streamed = 0n;
  const source = new ReadableStream<UIMessageChunk>({
    async pull(controller) {
      streamed ||= (await store.contexts.byName('ai-sdk/a%2Fb%25/main'))!.openTurn;
      const chunk = chunks.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
  await collect(await chats.stream('a/b%', source));
  expect(await show(store)).toEqual(STORED);
  const stream = await store.contexts.turn(streamed);
  expect([stream?.type, stream?.encoding]).toEqual(['ai.stream', 'bytes']);
  expect(Buffer.from(stream!.bytes!).toString()).toBe(CHUNKS);
});

it('a store with these contexts and bytes is read, also after the writer of an answer was killed', async () => {
  const { store, chats } = await setUp();
  for (const [name, kind, rows] of STORED) {
    const { id } = await store.contexts.create({ name, kind });
    const turns = rows.map(([type, , text]) => {
      return { type, encoding: 'json' as const, payload: Buffer.from(text) };
    });
    await store.contexts.appendBatch(id, turns);
  }
  const { id } = await store.contexts.create({ name: 'ai-sdk/cut/main', kind: 'ai-sdk' });
  const turns = [QUESTION, ANSWER].map((text) => {
    return { type: 'ai.message', encoding: 'json' as const, payload: Buffer.from(text) };
  });
  await store.contexts.appendBatch(id, turns);
  const open = await store.contexts.open(id, { type: 'ai.stream', encoding: 'bytes' });
  await open.write(`${CHUNKS}{"type":"te`);
  await open.abort('interrupted');

  expect(await chats.load('a/b%')).toEqual(parsed(QUESTION, GROWN));
  const [branch, ...others] = await chats.branches('a/b%');
  expect(others).toEqual([]);
  expect(branch).toEqual({ id: 'BRANCH', messages: parsed(QUESTION, ANSWER, EDITED) });
  expect(await chats.load('cut')).toEqual(parsed(QUESTION, GROWN));
  const chunks = await collect((await chats.resume('cut'))!);
  expect(chunks.map((chunk) => JSON.stringify(chunk))).toEqual([
    ...CHUNKS.split('\n').slice(0, -1),
    '{"type":"abort","reason":"interrupted"}',
  ]);
  expect(await chats.rewind('cut', 'a1')).toEqual(parsed(QUESTION));
  // The answer that was cut off is a later state of the last message, so nothing else is kept.
  expect((await chats.branches('cut')).map(({ messages }) => messages)).toEqual([
    parsed(QUESTION, GROWN),
  ]);
});
