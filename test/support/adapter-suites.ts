import { MemorySession } from '@openai/agents-core';
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation';
import * as vitest from 'vitest';
import { QuipuChats } from '../../src/adapters/ai-sdk.ts';
import { QuipuSaver } from '../../src/adapters/langgraph.ts';
import { QuipuSession } from '../../src/adapters/openai-agents.ts';
import type { Store } from '../../src/store/store.ts';
import { answer, collect, say, scripted, textOf, user } from '../adapters/ai-sdk-rig.ts';
import { useSdk } from '../adapters/openai-agents-rig.ts';

const { afterAll, beforeAll, describe, expect, it } = vitest;

// The suite of LangGraph expects the names of vitest to be global.
Object.assign(globalThis, vitest);

/** What the suites and runners of the frameworks ask of their adapters, on a store of any sort. */
export function adapterSuites(name: string, open: () => Promise<Store>): void {
  let store: Store;
  let made = 0;

  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());

  describe(`LangGraph on ${name}`, () => {
    const initializer = {
      checkpointerName: `quipudb/langgraph on ${name}`,
      // Each saver sees the threads of its prefix alone, so one store is enough for all of them.
      createCheckpointer: (): QuipuSaver => new QuipuSaver(store, { prefix: `lg${(made += 1)}` }),
    };
    validate(initializer);
    deltaChannelHistoryTests(initializer);
  });

  describe(`the OpenAI Agents SDK on ${name}`, () => {
    it('does with tools and hand-offs what it does with the session of the SDK', async () => {
      const session = new QuipuSession(store, { sessionId: 'a/b%' });
      const expected = await useSdk(new MemorySession());
      expect(expected.items).toHaveLength(10);
      expect(await useSdk(session)).toEqual(expected);
      const fork = await session.fork({ keep: 2 });
      expect(await fork.popItem()).toEqual(expected.items[1]);
      await session.clearSession();
      expect(await session.getItems()).toEqual([]);
      expect(await fork.getItems()).toEqual(expected.items.slice(0, 1));
    });
  });

  describe(`the AI SDK on ${name}`, () => {
    it('changes nothing when it fails because an answer is streamed', async () => {
      const chats = new QuipuChats(store);
      await chats.save('busy', [user('u1', 'one'), user('u2', 'two')]);
      await chats.rewind('busy', 'u2');
      const [branch] = await chats.branches('busy');
      const sent = await chats.stream('busy', new ReadableStream());
      const works = [
        () => chats.switchTo('busy', branch!.id),
        () => chats.save('busy', [user('u3', 'three')]),
        () => chats.rewind('busy', 'u1'),
      ];
      for (const work of works) await expect(work()).rejects.toMatchObject({ code: 'LOCKED' });
      expect(await chats.branches('busy')).toEqual([branch]);
      await new QuipuChats(store).stop('busy');
      expect(await collect(sent)).toEqual([{ type: 'abort', reason: 'stopped' }]);
      expect((await chats.load('busy')).map(textOf)).toEqual(['one']);
      expect((await chats.switchTo('busy', branch!.id)).map(textOf)).toEqual(['one', 'two']);
    });

    it('streams, resumes while it streams, and generates again as a branch', async () => {
      const chats = new QuipuChats(store);
      const other = new QuipuChats(store);
      const model = scripted([say('one ', 'answer'), say('another ', 'answer')]);
      await chats.save('a/b', [user('u', 'hello')]);
      const sent = await answer(chats, 'a/b', model);
      const resumed = await other.resume('a/b');
      const chunks = await collect(sent);
      expect(resumed === null ? chunks : await collect(resumed)).toEqual(chunks);
      const [, first] = await other.load('a/b');
      expect(textOf(first!)).toBe('one answer');
      expect(await other.rewind('a/b', first!.id)).toEqual([user('u', 'hello')]);
      await collect(await answer(chats, 'a/b', model));
      expect((await other.load('a/b')).map(textOf)).toEqual(['hello', 'another answer']);
      const [branch] = await other.branches('a/b');
      expect(branch?.messages.map(textOf)).toEqual(['hello', 'one answer']);
      expect((await chats.switchTo('a/b', branch!.id)).map(textOf)).toEqual([
        'hello',
        'one answer',
      ]);
      await other.remove('a/b');
      expect(await chats.load('a/b')).toEqual([]);
    });
  });
}
