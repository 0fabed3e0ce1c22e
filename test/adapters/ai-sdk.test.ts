import * as sdk from 'ai';
import { convertToModelMessages, readUIMessageStream, streamText, tool } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { spawn } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { QuipuChats } from '../../src/adapters/ai-sdk.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { openStore } from '../../src/open-store.ts';
import { projectPath } from '../support/project.ts';
import { answer, collect, finish, say, scripted, setUp, textOf, user } from './ai-sdk-rig.ts';

it('runs with the major of the SDK that this run is about', () => {
  // A function that came with version 7.
  expect('toUIMessageStream' in sdk).toBe(process.env['AI_SDK_MAJOR'] === '7');
});

describe('an answer', () => {
  it('is the message that the SDK makes of it, with tools, and durable when the stream ends', async () => {
    const { store, chats } = await setUp();
    const model = scripted([
      [
        { type: 'stream-start', warnings: [] },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"city":"Lima"}' },
        finish('tool-calls'),
      ],
      say('Lima is ', 'dry. ', '🏜', '\ud83c'),
    ]);
    const weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => `${city}: dry`,
    });
    const messages = [user('u1', 'How is Lima?')];
    await chats.save('a/b', messages);
    let expected: UIMessage[] = [];
    const result = streamText({
      model,
      messages: await convertToModelMessages(messages),
      tools: { weather },
      stopWhen: ({ steps }) => steps.length === 2,
    });
    const chunks = result.toUIMessageStream({
      originalMessages: messages,
      generateMessageId: () => 'a1',
      onFinish: ({ messages: all }) => void (expected = all),
    });
    const sent = await collect(await chats.stream('a/b', chunks));
    expect(sent.map(({ type }) => type)).toContain('tool-output-available');
    expect(expected).toHaveLength(2);
    expect(textOf(expected[1]!)).toBe('Lima is dry. 🏜\ud83c');
    expect(await new QuipuChats(store).load('a/b')).toEqual(expected);
    expect(await chats.branches('a/b')).toEqual([]);
    expect(await chats.resume('a/b')).toBeNull();
    // The turns are the messages and nothing else.
    const { id } = (await store.contexts.byName('ai-sdk/a%2Fb/main'))!;
    const { turns } = await store.contexts.last(id, 9);
    expect(turns.map(({ type }) => type)).toEqual(['ai.message', 'ai.message']);
  });

  it('goes on when its client goes away, and is resumed from its first chunk', async () => {
    const { store, chats } = await setUp();
    await chats.save('c', [user('u1', 'hi')]);
    let open!: () => void;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const words = ['one ', 'two ', 'three'];
    const model = scripted([say(...words)], (at) => (at === 3 ? gate : undefined));
    const reader = (await answer(chats, 'c', model)).getReader();
    for (;;) if ((await reader.read()).value?.type === 'text-delta') break;
    await reader.cancel();
    // The chunk was sent when it was written, which may be before it is durable.
    const other = new QuipuChats(store);
    await expect(other.save('c', [])).rejects.toMatchObject({ code: 'LOCKED' });
    await expect(answer(other, 'c', scripted([say('x')]))).rejects.toMatchObject({
      code: 'LOCKED',
    });
    const left = (await other.resume('c'))!;
    await left.cancel();
    const resumed = (await other.resume('c'))!;
    open();
    const chunks = await collect(resumed);
    expect(chunks[0]?.type).toBe('start');
    expect(chunks.at(-1)?.type).toBe('finish');
    expect(chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []))).toEqual(
      words,
    );
    await expect
      .poll(async () => (await other.load('c')).map(textOf), PATIENCE)
      .toEqual(['hi', 'one two three']);
  });

  it('is what was stored of it when its process was killed, and can be generated again', async () => {
    const { folder, store } = await setUp();
    await store.close();
    const program = `
      import { openStore } from ${JSON.stringify(projectPath('dist/index.js'))};
      import { QuipuChats } from ${JSON.stringify(projectPath('dist/adapters/ai-sdk.js'))};
      const store = await openStore(process.argv[1]);
      const chats = new QuipuChats(store);
      await chats.save('k', [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'count' }] }]);
      let n = 0;
      const chunks = new ReadableStream({ async pull(controller) {
        if (n === 0) controller.enqueue({ type: 'start', messageId: 'a1' });
        if (n === 0) controller.enqueue({ type: 'text-start', id: 't' });
        if (n === 10) await new Promise(() => setInterval(() => {}, 1000));
        controller.enqueue({ type: 'text-delta', id: 't', delta: n++ + ' ' });
      } });
      await chats.stream('k', chunks);
      for await (const { delta } of await chats.resume('k')) if (delta === '9 ') console.log('ready');`;
    const argv = ['--input-type=module', '-e', program, folder];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = new Promise((resolve) => child.on('close', resolve));
    child.stdout.once('data', () => child.kill('SIGKILL'));
    await ended;

    const again = await openStore(folder);
    onTestFinished(() => again.close());
    const chats = new QuipuChats(again);
    const counted = Array.from({ length: 10 }, (_, n) => `${n} `).join('');
    expect((await chats.load('k')).map(textOf)).toEqual(['count', counted]);
    const chunks = await collect((await chats.resume('k'))!);
    expect(chunks).toHaveLength(13);
    expect(chunks.at(-1)).toEqual({ type: 'abort', reason: 'interrupted' });
    const messages = await collect(
      readUIMessageStream({ stream: (await chats.resume('k'))! }) as ReadableStream<UIMessage>,
    );
    expect(textOf(messages.at(-1)!)).toBe(counted);

    expect((await chats.rewind('k', 'a1')).map(textOf)).toEqual(['count']);
    await collect(await answer(chats, 'k', scripted([say('0 to 9')])));
    expect((await chats.load('k')).map(textOf)).toEqual(['count', '0 to 9']);
    expect((await chats.branches('k')).map(({ messages: all }) => all.map(textOf))).toEqual([
      ['count', counted],
    ]);
  });

  it('is kept as far as it came when its model fails, and when somebody stops it', async () => {
    const { store, chats } = await setUp();
    await chats.save('f', [user('u1', 'hi')]);
    let n = 0;
    const failing = new ReadableStream<UIMessageChunk>({
      pull(controller) {
        n += 1;
        if (n === 1) controller.enqueue({ type: 'start', messageId: 'a1' });
        else if (n === 2) controller.enqueue({ type: 'text-start', id: 't' });
        else if (n === 3) controller.enqueue({ type: 'text-delta', id: 't', delta: 'so far' });
        else throw new Error('the model is gone');
      },
    });
    const saved: Promise<unknown>[] = [];
    const noted = new QuipuChats(store, { waitUntil: (promise) => void saved.push(promise) });
    await expect(collect(await noted.stream('f', failing))).rejects.toThrow('the model is gone');
    await expect(saved[0]).rejects.toThrow('the model is gone');
    expect((await chats.load('f')).map(textOf)).toEqual(['hi', 'so far']);

    await chats.save('s', [user('u1', 'hi')]);
    let cancelled = false;
    let tick = 0;
    const endless = new ReadableStream<UIMessageChunk>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        tick += 1;
        if (tick === 1) controller.enqueue({ type: 'start', messageId: 'a1' });
        else if (tick === 2) controller.enqueue({ type: 'text-start', id: 't' });
        else controller.enqueue({ type: 'text-delta', id: 't', delta: 'x' });
      },
      cancel: () => void (cancelled = true),
    });
    const sent = collect(await chats.stream('s', endless));
    await expect.poll(() => tick, PATIENCE).toBeGreaterThan(5);
    await new QuipuChats(store).stop('s');
    expect((await sent).at(-1)).toEqual({ type: 'abort', reason: 'stopped' });
    expect(cancelled).toBe(true);
    const [, stopped] = await chats.load('s');
    expect(textOf(stopped!)).toMatch(/^x+$/);
    await chats.stop('s');
    expect(await chats.resume('s')).toBeNull();
  });

  it('is nothing when the model said nothing', async () => {
    const { chats } = await setUp();
    await chats.save('n', [user('u1', 'hi')]);
    await collect(await chats.stream('n', new ReadableStream({ start: (c) => c.close() })));
    expect((await chats.load('n')).map(textOf)).toEqual(['hi']);
    await chats.save('n', [user('u1', 'hi'), user('u2', 'ho')]);
    expect((await chats.load('n')).map(textOf)).toEqual(['hi', 'ho']);
  });
});
