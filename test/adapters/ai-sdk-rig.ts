import { convertToModelMessages, streamText } from 'ai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { QuipuChats } from '../../src/adapters/ai-sdk.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';

// The tests of the adapter run with the newest major of the SDK, too, on a newer Node: see `vitest.newer.config.ts`.

interface Rig {
  readonly folder: string;
  readonly store: Store;
  readonly chats: QuipuChats;
}

export async function setUp(): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-ai-sdk-'));
  const store = await openStore(folder);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, store, chats: new QuipuChats(store) };
}

export const user = (id: string, text: string): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
});

export const textOf = ({ parts }: UIMessage): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

type Part =
  Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream'] extends ReadableStream<infer P>
    ? P
    : never;

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
export const finish = (unified: 'stop' | 'tool-calls'): Part => ({
  type: 'finish',
  finishReason: { unified, raw: unified },
  usage: USAGE,
});

export const say = (...words: string[]): Part[] => [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: 't' },
  ...words.map((delta) => ({ type: 'text-delta' as const, id: 't', delta })),
  { type: 'text-end', id: 't' },
  finish('stop'),
];

/** A model that answers with these parts in turn, and waits at `gate` before each part. */
export function scripted(
  answers: Part[][],
  gate: (at: number) => Promise<void> | void = () => undefined,
): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    doStream: () => {
      const parts = answers.shift() ?? [];
      let at = 0;
      const stream = new ReadableStream<Part>({
        async pull(controller) {
          await gate(at);
          const part = parts[at++];
          if (part === undefined) controller.close();
          else controller.enqueue(part);
        },
      });
      return Promise.resolve({ stream });
    },
  });
}

/** What the route of a server does with the messages of a chat. */
export async function answer(
  chats: QuipuChats,
  id: string,
  model: MockLanguageModelV3,
): Promise<ReadableStream<UIMessageChunk>> {
  const messages = await chats.load(id);
  const result = streamText({ model, messages: await convertToModelMessages(messages) });
  return chats.stream(id, result.toUIMessageStream({ originalMessages: messages }));
}

export async function collect<T>(stream: ReadableStream<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}
