import type { UIMessage, UIMessageChunk } from 'ai';
import { describe, expect, it, vi } from 'vitest';
import { toAnswer } from '../../src/adapters/ai-sdk-chunks.ts';
import { QuipuChats } from '../../src/adapters/ai-sdk.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { collect, setUp, textOf, user } from './ai-sdk-rig.ts';

const streamOf = (chunks: readonly unknown[]): ReadableStream<UIMessageChunk> =>
  ReadableStream.from(chunks) as ReadableStream<UIMessageChunk>;
const say = (delta: string): object[] => [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta },
  { type: 'text-end', id: 't' },
  { type: 'finish' },
];
const START = { type: 'start' };
const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const GROWING = { timeout: 30_000 };
const CALL = { toolCallId: 'c', toolName: 'x' };

describe('an answer with chunks that mean harm', () => {
  it.each<[what: string, chunks: unknown[], texts: string[], fails: RegExp]>([
    [
      'too many levels',
      [START, { type: 'data-x', data: deep(1000) }, ...say('a')],
      ['hi', 'a'],
      /^$/,
    ],
    [
      'too many values',
      [START, { type: 'data-x', data: Array.from({ length: 1_000_001 }, () => 1) }, ...say('a')],
      ['hi', 'a'],
      /^$/,
    ],
    [
      'a tool call of too many levels',
      [
        START,
        { type: 'tool-input-start', ...CALL },
        { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '['.repeat(3000) },
        ...say('after'),
      ],
      ['hi', 'after'],
      /^$/,
    ],
    ['half of a character', [START, ...say('\ud83d')], ['hi', '\ud83d'], /^$/],
    ['nothing but a text', say('no start'), ['hi', 'no start'], /^$/],
    ['an unknown type', [START, { type: 'weird', x: 1 }, ...say('a')], ['hi', 'a'], /^$/],
    ['no chunk', [START, null], ['hi'], /null/],
    ['no JSON', [START, { type: 'data-x', data: 1n }], ['hi'], /BigInt/],
    ['two starts', [START, ...say('a'), START, ...say('b')], ['hi', 'ab'], /^$/],
    ['the id of the question', [{ ...START, messageId: 'u' }, ...say('a')], ['hi', 'a'], /^$/],
  ])('such as %s lets the chat go on', async (_, chunks, texts, fails) => {
    const { chats } = await setUp();
    await chats.save('c', [user('u', 'hi')]);
    const sent = await collect(await chats.stream('c', streamOf(chunks))).catch(String);
    expect(typeof sent === 'string' ? sent : '').toMatch(fails);
    const messages = await chats.load('c');
    expect(messages.map(textOf)).toEqual(texts);
    // The message has the id that its client was told.
    const [start] = typeof sent === 'string' ? [] : sent;
    expect(start?.type === 'start' ? start.messageId : undefined).toBe(messages[1]?.id);
    await chats.save('c', [...messages, user('u2', 'more')]);
    await collect(await chats.stream('c', streamOf([START, ...say('next')])));
    expect((await chats.load('c')).map(textOf)).toEqual([...texts, 'more', 'next']);
  });

  it('stays as its chunks when no turn can hold the message, also when it goes on', async () => {
    const { store, chats } = await setUp();
    await chats.save('c', [user('u', 'hi')]);
    const half = Array.from({ length: 600_000 }, () => 1);
    const start = { ...START, messageId: 'a' };
    const usage = { type: 'message-metadata', messageMetadata: { usage: half } };
    await collect(await chats.stream('c', streamOf([start, ...say('a'), usage])));
    const data = { type: 'data-x', data: half };
    await collect(await chats.stream('c', streamOf([start, data, ...say('b')])));
    const [, large] = await chats.load('c');
    expect(await chats.resume('c')).toBeNull();
    expect([large?.parts.length, large?.metadata]).toEqual([3, { usage: half }]);
    await chats.save('c', [user('u', 'hi'), large!, user('u2', 'more')]);
    await collect(await chats.stream('c', streamOf([START, ...say('next')])));
    const messages = await chats.load('c');
    expect(messages.map(textOf)).toEqual(['hi', 'ab', 'more', 'next']);
    expect(messages[1]).toEqual(large);
    expect(await chats.branches('c')).toEqual([]);
    const { id } = (await store.contexts.byName('ai-sdk/c/main'))!;
    const types = (await store.contexts.last(id, 9)).turns.map(({ type }) => type.slice(3));
    expect(types).toEqual(['message', 'message', 'stream', 'message', 'message']);
    expect((await chats.rewind('c', 'a')).map(textOf)).toEqual(['hi']);
    expect((await chats.branches('c')).map(({ messages: all }) => all)).toEqual([messages]);
  });

  // 10,000 parts took more than 40 seconds when each chunk cost a copy of the message.
  it('takes a time that grows with its length, however many chunks it has', GROWING, async () => {
    const { chats } = await setUp();
    const many = Array.from({ length: 10_000 }, (_, n) => n);
    const input = many.map(() => ({
      type: 'tool-input-delta',
      toolCallId: 'c',
      inputTextDelta: ',1',
    }));
    const parts = many.map((n) => ({ type: 'data-x', id: String(n), data: n }));
    const call = [
      { type: 'tool-input-start', ...CALL },
      { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '[1' },
    ];
    await collect(await chats.stream('c', streamOf([START, ...call, ...input, ...parts])));
    const [message] = await chats.load('c');
    expect(message?.parts).toHaveLength(10_001);
    expect(message?.parts[0]).toMatchObject({ input: many.map(() => 1).concat(1) });
  });

  it('that cannot be read at all leaves the chat open', async () => {
    const { chats } = await setUp();
    const locked = streamOf([START]);
    locked.getReader();
    for (const chunks of [locked, undefined, {}, [START]]) {
      const refused = chats.stream('c', chunks as ReadableStream<UIMessageChunk>);
      await expect(refused).rejects.toMatchObject({ code: 'INVALID' });
    }
    await chats.save('c', [user('u', 'hi')]);
    expect((await chats.load('c')).map(textOf)).toEqual(['hi']);
  });

  it('lets others have their turn while it is read', async () => {
    const lines = Array.from({ length: 10_000 }, (_, n) => ({ type: 'data-x', data: n }));
    const chunks = [START, ...lines] as UIMessageChunk[];
    let turns = 0;
    let isOver = false;
    const others = (): void => {
      turns += 1;
      if (!isOver) setImmediate(others);
    };
    setImmediate(others);
    expect((await toAnswer(chunks, undefined))?.parts).toHaveLength(10_000);
    isOver = true;
    expect(turns).toBeGreaterThan(10);
  });

  it('is saved although its client does not read, and the client may begin late', async () => {
    const { store } = await setUp();
    const saved: Promise<unknown>[] = [];
    const chats = new QuipuChats(store, { waitUntil: (promise) => void saved.push(promise) });
    const words = Array.from({ length: 2000 }, (_, n) => ({
      type: 'text-delta',
      id: 't',
      delta: `${n} `.padEnd(100),
    }));
    const all = [{ ...START, messageId: 'a' }, { type: 'text-start', id: 't' }, ...words];
    const sent = await chats.stream('c', streamOf(all));
    const left = await chats.resume('c');
    await Promise.all(saved);
    expect(textOf((await chats.load('c'))[0]!)).toHaveLength(200_000);
    await left?.cancel();
    expect(await collect(sent)).toEqual(all);
  });

  it('is read as far as it came when its last line is torn, or no chunk', async () => {
    const { store, chats } = await setUp();
    await chats.save('c', [user('u', 'hi')]);
    const { id } = (await store.contexts.byName('ai-sdk/c/main'))!;
    const open = await store.contexts.open(id, { type: 'ai.stream', encoding: 'bytes' });
    const [begin, delta] = say('so far');
    const torn = Buffer.from(`${JSON.stringify({ ...delta, delta: ' 😀' })}\n`);
    const lines = [{ ...START, messageId: 'a' }, begin, null, 7, deep(1000), delta];
    await open.write(`{"type":\n${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`);
    await open.write(Buffer.from([0xff, 0x0a]));
    await open.write(torn.subarray(0, torn.indexOf(0xf0) + 2));
    await open.abort('the process is gone');
    const resumed = await collect((await chats.resume('c'))!);
    expect(resumed.map(({ type }) => type)).toEqual(['start', 'text-start', 'text-delta', 'abort']);
    expect((await chats.load('c')).map(textOf)).toEqual(['hi', 'so far']);
  });
});

it('turns of others in a chat are passed over, whatever they hold', async () => {
  const { store, chats } = await setUp();
  await chats.save('c', [user('u', 'hi')]);
  const { id } = (await store.contexts.byName('ai-sdk/c/main'))!;
  const bad = [null, 7, 'x', [], {}, { id: 'm', role: 'user', parts: 'x' }];
  const turns = bad.flatMap((payload) => [
    { type: 'ai.message', payload },
    { type: 'ai.stream', payload },
  ]);
  await store.contexts.appendBatch(id, [...turns, { type: 'note', payload: 'x' }]);
  await chats.save('c', [user('u', 'hi'), user('v', 'ho')]);
  await collect(await chats.stream('c', streamOf([START, ...say('a')])));
  expect((await chats.load('c')).map(textOf)).toEqual(['hi', 'ho', 'a']);
  expect(await chats.branches('c')).toEqual([]);
});

describe('ids', () => {
  it('of chats are told apart, however they are written', async () => {
    const { chats } = await setUp();
    const ids = ['a', 'a/main', 'a%2Fmain', 'a/', 'ab', 'A', 'main', '..', '__proto__', ' ', '\n'];
    ids.push('é', 'e\u0301', 'x'.repeat(400), '\ud83d\ude00');
    for (const id of ids) {
      await chats.save(id, [user('u', id), user('u2', 'x')]);
      await chats.rewind(id, 'u2');
    }
    await chats.remove('a');
    for (const id of ids) {
      expect((await chats.load(id)).map(textOf)).toEqual(id === 'a' ? [] : [id]);
      expect(await chats.branches(id)).toHaveLength(id === 'a' ? 0 : 1);
    }
    for (const id of ['', 7, undefined, null, 'x'.repeat(600), '\ud800']) {
      const saved = chats.save(id as string, [user('u', 'x')]);
      await expect(saved).rejects.toSatisfy((error) => isQuipuError(error, 'INVALID'));
    }
    for (const branch of ['', '..', 'main', '../ab/main', 'x'.repeat(600)]) {
      await expect(chats.switchTo('ab', branch)).rejects.toMatchObject({ name: 'QuipuError' });
    }
  });

  it('of messages may come twice', async () => {
    const { chats } = await setUp();
    const answer = { ...user('a', 'one'), role: 'assistant' } as UIMessage;
    const twice = [user('a', 'x'), answer, { ...answer, parts: [] }, user('a', 'y')];
    await chats.save('c', twice);
    expect(await chats.load('c')).toEqual(twice);
    expect(await chats.rewind('c', 'a')).toEqual([]);
    expect((await chats.branches('c')).map(({ messages }) => messages)).toEqual([twice]);
  });
});

describe('two tabs', () => {
  it('that generate the same answer again make one of it', async () => {
    const { store, chats } = await setUp();
    const old = { ...user('a', 'old'), role: 'assistant' } as UIMessage;
    await chats.save('c', [user('u', 'hi'), old]);
    const tabs = ['one', 'two', 'three'].map(async (text) => {
      const tab = new QuipuChats(store);
      await tab.rewind('c', 'a');
      await collect(await tab.stream('c', streamOf([START, ...say(text)])));
    });
    const ended = await Promise.allSettled(tabs);
    expect(ended.some(({ status }) => status === 'fulfilled')).toBe(true);
    for (const one of ended) {
      if (one.status === 'fulfilled') continue;
      const lost = ['LOCKED', 'NOT_FOUND', 'HEAD_MOVED'] as const;
      expect(lost.some((code) => isQuipuError(one.reason, code))).toBe(true);
    }
    const texts = (await chats.load('c')).map(textOf);
    expect([texts[0], texts.length >= 2]).toEqual(['hi', true]);
    const branches = await chats.branches('c');
    expect(branches.some(({ messages }) => messages.map(textOf).includes('old'))).toBe(true);
  });

  /** An answer whose model says nothing more after `so far`. */
  async function unfinished(chats: QuipuChats) {
    await chats.save('c', [user('u', 'hi')]);
    const cancel = vi.fn<() => void>();
    const chunks = new ReadableStream<UIMessageChunk>({
      cancel,
      start(controller) {
        for (const chunk of [START, ...say('so far').slice(0, 2)])
          controller.enqueue(chunk as UIMessageChunk);
      },
    });
    return { cancel, sent: collect(await chats.stream('c', chunks)) };
  }

  it('may remove a chat while it is answered: the model is stopped', async () => {
    const { store, chats } = await setUp();
    const { sent, cancel } = await unfinished(chats);
    await new QuipuChats(store).remove('c');
    expect((await sent).at(-1)).toEqual({ type: 'abort', reason: 'stopped' });
    expect(cancel).toHaveBeenCalled();
    expect((await store.contexts.list()).items).toEqual([]);
    await expect(chats.rewind('c', 'u')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await store.contexts.list()).items).toEqual([]);
  });

  it('may stop an answer at once while a third resumes it', async () => {
    const { store, chats } = await setUp();
    const { sent, cancel } = await unfinished(chats);
    const reader = (await new QuipuChats(store).resume('c'))!.getReader();
    const seen: unknown[] = [];
    const resumed = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read())
        seen.push(next.value);
    })();
    await expect.poll(() => seen.length, PATIENCE).toBe(3);
    await Promise.all([new QuipuChats(store).stop('c'), chats.stop('c')]);
    await resumed;
    expect(seen.at(-1)).toEqual({ type: 'abort', reason: 'stopped' });
    expect((await sent).at(-1)).toEqual({ type: 'abort', reason: 'stopped' });
    expect(cancel).toHaveBeenCalled();
    expect(textOf((await chats.load('c'))[1]!)).toBe('so far');
  });
});
