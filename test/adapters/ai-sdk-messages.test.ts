import { AbstractChat } from 'ai';
import type { ChatState, ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import { describe, expect, it } from 'vitest';
import { QuipuChats } from '../../src/adapters/ai-sdk.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { answer, collect, say, scripted, setUp, textOf, user } from './ai-sdk-rig.ts';

describe('messages', () => {
  const assistant = (id: string, text: string): UIMessage => ({
    ...user(id, text),
    role: 'assistant',
  });

  it('that a list leaves out are a branch, and can be gone back to', async () => {
    const { store, chats } = await setUp();
    const [u1, a1, u2, a2] = [
      user('u1', 'q'),
      assistant('a1', 'a'),
      user('u2', 'r'),
      assistant('a2', 's'),
    ];
    await chats.save('b', [u1, a1, u2, a2]);
    await chats.save('b', [u1, a1, u2, a2]);
    expect(await chats.branches('b')).toEqual([]);
    // Keys in another order are the same message.
    await chats.save('b', [{ parts: u1.parts, role: 'user', id: 'u1' }, a1, u2, a2]);
    expect(await chats.branches('b')).toEqual([]);
    const edited = user('u2', 'another');
    await chats.save('b', [u1, a1, edited]);
    await store.maintain.gc({ graceMs: 0 });
    const [branch, ...others] = await chats.branches('b');
    expect([branch?.messages, others]).toEqual([[u1, a1, u2, a2], []]);
    expect(await chats.switchTo('b', branch!.id)).toEqual([u1, a1, u2, a2]);
    expect((await chats.branches('b')).map(({ messages }) => messages)).toEqual([[u1, a1, edited]]);
    await expect(chats.switchTo('b', branch!.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(chats.switchTo('b', 'main')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(chats.rewind('b', 'zz')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await chats.remove('b');
    expect(await chats.load('b')).toEqual([]);
    expect((await store.contexts.list()).items).toEqual([]);
  });

  it('of an assistant that grow, as with the result of a tool, leave no branch', async () => {
    const { chats } = await setUp();
    await chats.save('t', [user('u1', 'q'), assistant('a1', 'calling')]);
    await chats.save('t', [user('u1', 'q'), assistant('a1', 'calling, and the result')]);
    expect((await chats.load('t')).map(textOf)).toEqual(['q', 'calling, and the result']);
    expect(await chats.branches('t')).toEqual([]);
    // An answer with the id of the last message continues it.
    const chunks: UIMessageChunk[] = [
      { type: 'start', messageId: 'a1' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: ', and more' },
      { type: 'text-end', id: 't' },
      { type: 'finish' },
    ];
    await collect(
      await chats.stream('t', ReadableStream.from(chunks) as ReadableStream<UIMessageChunk>),
    );
    expect((await chats.load('t')).map(textOf)).toEqual(['q', 'calling, and the result, and more']);
    expect(await chats.branches('t')).toEqual([]);
  });

  it('of two writers at once are all kept', async () => {
    const { store, chats } = await setUp();
    const other = new QuipuChats(store);
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        (n % 2 === 0 ? chats : other).save('w', [user(`u${n}`, `says ${n}`)]),
      ),
    );
    const lists = [
      await chats.load('w'),
      ...(await chats.branches('w')).map(({ messages }) => messages),
    ];
    expect(lists.map((list) => list.map(textOf).join()).toSorted()).toEqual(
      Array.from({ length: 8 }, (_, n) => `says ${n}`),
    );
  });
});

/** The chat of the SDK's client, without a framework around it. */
class Client extends AbstractChat<UIMessage> {
  constructor(id: string, transport: ChatTransport<UIMessage>, messages: UIMessage[] = []) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages,
      pushMessage: (message) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (at, message) => void (state.messages = state.messages.with(at, message)),
      snapshot: (thing) => structuredClone(thing),
    };
    super({ id, transport, state });
  }
}

describe("the SDK's client", () => {
  it('sends, generates again, edits and resumes', async () => {
    const { store, chats } = await setUp();
    const model = scripted(['first', 'second', 'third'].map((text) => say(text)));
    const transport: ChatTransport<UIMessage> = {
      async sendMessages({ chatId, messages, trigger, messageId }) {
        if (trigger === 'regenerate-message') await chats.rewind(chatId, messageId!);
        else await chats.save(chatId, messages);
        return answer(chats, chatId, model);
      },
      reconnectToStream: ({ chatId }) => new QuipuChats(store).resume(chatId),
    };
    const client = new Client('ui', transport);
    const shown = (): string[] => client.messages.map(textOf);
    await client.sendMessage({ text: 'hello' });
    expect([client.error, shown()]).toEqual([undefined, ['hello', 'first']]);
    await client.regenerate({ messageId: client.messages[1]!.id });
    expect([client.error, shown()]).toEqual([undefined, ['hello', 'second']]);
    await client.sendMessage({ text: 'good day', messageId: client.messages[0]!.id });
    expect([client.error, shown()]).toEqual([undefined, ['good day', 'third']]);
    expect(await chats.load('ui')).toEqual(client.messages);
    expect((await chats.branches('ui')).map(({ messages }) => messages.map(textOf))).toEqual([
      ['hello', 'first'],
      ['hello', 'second'],
    ]);

    await chats.save('ui', [...client.messages, user('u9', 'and?')]);
    let open!: () => void;
    const gate = new Promise<void>((resolve) => (open = resolve));
    void answer(
      chats,
      'ui',
      scripted([say('the ', 'end')], (at) => (at === 3 ? gate : undefined)),
    );
    await expect.poll(() => chats.resume('ui'), PATIENCE).not.toBeNull();
    const late = new Client('ui', transport, await chats.load('ui'));
    const resumed = late.resumeStream();
    open();
    await resumed;
    expect(late.messages.map(textOf)).toEqual(['good day', 'third', 'and?', 'the end']);
  });
});
