import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Conversations } from '../../src/agents.ts';
import type { ConversationShape, Message } from '../../src/agents.ts';
import type { Store } from '../../src/store/store.ts';
import { PATIENCE } from '../../src/testing/patience.ts';

export interface Said extends Message {
  readonly text: string;
}

export type Piece = { readonly id: string } | { readonly text: string } | { readonly cut: string };

/** The first piece of an answer has its id, so all readers make the same message. */
export const SHAPE: ConversationShape<Said, Piece> = {
  fold(pieces, before) {
    const id = pieces.flatMap((piece) => ('id' in piece ? [piece.id] : []))[0];
    const text = pieces.map((piece) => ('text' in piece ? piece.text : '')).join('');
    if (id === undefined) return undefined;
    const said = before?.id === id ? before.text : '';
    return { id, role: 'assistant', text: said + text };
  },
  cutOff: (reason) => ({ cut: reason }),
  isMessage: (value) => typeof (value as Partial<Said>).text === 'string',
  isChunk: (value) => !('note' in value),
};

export const asks = (id: string, text: string): Said => ({ id, role: 'user', text });
export const says = (id: string, text: string): Said => ({ id, role: 'assistant', text });

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function* of<T>(...items: T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}

/** What conversations do, on a store of any sort. */
export function conversationSuite(name: string, open: () => Promise<Store>): void {
  let store: Store;
  let mine: Conversations<Said, Piece>;
  let other: Conversations<Said, Piece>;

  beforeAll(async () => {
    store = await open();
    mine = new Conversations(store, SHAPE);
    other = new Conversations(store, SHAPE);
  });
  afterAll(() => store.close());

  /** The types of the turns, and what else is stored of a conversation. */
  async function turnsOf(id: string): Promise<string[]> {
    const context = await store.contexts.byName(`conversation/${id}/main`);
    const { turns } = await store.contexts.last(context!.id, 99);
    return turns.map(({ type }) => type);
  }

  describe(`conversations on ${name}`, () => {
    messageSuite();
    answerSuite();
    endSuite();
  });

  function messageSuite(): void {
    it('store a message once, and keep what a list leaves out as a branch', async () => {
      expect(await mine.load('list')).toEqual([]);
      const list = [asks('u1', 'q'), says('a1', 'a'), asks('u2', 'r')];
      await mine.save('list', list.slice(0, 2));
      const context = (await store.contexts.byName('conversation/list/main'))!;
      expect(context.kind).toBe('conversation');
      await other.save('list', list);
      expect(await mine.load('list')).toEqual(list);
      const [newest] = (await store.contexts.last(context.id, 1)).turns;
      expect([newest?.depth, newest?.parent]).toEqual([2, context.head]);
      await mine.save('list', [{ text: 'q', role: 'user', id: 'u1' }, ...list.slice(1)]);
      expect((await store.contexts.get(context.id))?.head).toBe(newest?.id);
      expect(await mine.branches('list')).toEqual([]);

      expect(await mine.rewind('list', 'a1')).toEqual(list.slice(0, 1));
      await mine.save('list', [asks('u1', 'q'), says('a2', 'b')]);
      const [branch, ...more] = await other.branches('list');
      expect([branch?.messages, more]).toEqual([list, []]);
      expect(await other.switchTo('list', branch!.id)).toEqual(list);
      const left = (await mine.branches('list')).map(({ messages }) => messages);
      expect(left).toEqual([[asks('u1', 'q'), says('a2', 'b')]]);
      await expect(mine.rewind('list', 'zz')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(mine.switchTo('list', 'zz')).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await expect(mine.load('')).rejects.toMatchObject({ code: 'INVALID' });
      await mine.remove('list');
      expect([await mine.load('list'), await mine.branches('list')]).toEqual([[], []]);
    });

    it('replace an answer by a later state of it without a branch', async () => {
      await mine.save('grow', [asks('u1', 'q'), says('a1', 'calls')]);
      await mine.save('grow', [asks('u1', 'q'), says('a1', 'calls, and has the result')]);
      const goesOn = await mine.answer('grow', ({ before }) =>
        of({ id: before!.id }, { text: ', and more' }),
      );
      await goesOn.saved;
      const grown = says('a1', 'calls, and has the result, and more');
      expect(await other.load('grow')).toEqual([asks('u1', 'q'), grown]);
      expect(await other.branches('grow')).toEqual([]);
    });

    it('answer the last message, also when one is saved at the last moment', async () => {
      await mine.save('late', [asks('u1', 'q')]);
      let isFirst = true;
      const contexts = Object.assign(Object.create(store.contexts) as Store['contexts'], {
        open: async (...args: Parameters<Store['contexts']['open']>) => {
          if (isFirst) await other.save('late', [asks('u1', 'q'), asks('u2', 'r')]);
          isFirst = false;
          return store.contexts.open(...args);
        },
      });
      const slow = new Conversations({ ...store, contexts }, SHAPE);
      const { saved } = await slow.answer('late', ({ before }) =>
        of({ id: 'a1' }, { text: `to ${before!.id}` }),
      );
      await saved;
      const said = [asks('u1', 'q'), asks('u2', 'r'), says('a1', 'to u2')];
      expect(await other.load('late')).toEqual(said);
    });

    it('pass over what others store in their contexts', async () => {
      await mine.save('mixed', [asks('u1', 'q')]);
      const { id } = (await store.contexts.byName('conversation/mixed/main'))!;
      const bad = [null, 7, 'x', [], {}, { id: 'm', role: 'user' }];
      const turns = bad.flatMap((payload) => [
        { type: 'conversation.message', payload },
        { type: 'conversation.stream', payload },
      ]);
      await store.contexts.appendBatch(id, [...turns, { type: 'note', payload: 'x' }]);
      await mine.save('mixed', [asks('u1', 'q'), asks('u2', 'r')]);
      expect(await other.load('mixed')).toEqual([asks('u1', 'q'), asks('u2', 'r')]);
      expect(await other.branches('mixed')).toEqual([]);
    });
  }

  function answerSuite(): void {
    it('give everybody the same chunks, and put the message in their place', async () => {
      await mine.save('a/b%', [asks('u1', 'q')]);
      let goOn!: () => void;
      const gate = new Promise<void>((resolve) => (goOn = resolve));
      let heard: AbortSignal | undefined;
      const answer = await mine.answer('a/b%', async function* ({ before, signal }) {
        heard = signal;
        yield { id: 'a1' };
        yield { text: `${before?.text}: ` };
        await gate;
        yield { text: '🏜\n\ud83c' };
      });
      const late = (await other.resume('a/b%'))!.getReader();
      expect([await late.read(), await late.read()].map(({ value }) => value)).toEqual([
        { id: 'a1' },
        { text: 'q: ' },
      ]);
      // A reader that leaves ends nothing, and what has come is read already.
      await late.cancel();
      expect(await other.load('a/b%')).toEqual([asks('u1', 'q')]);
      const locked = [
        () => other.save('a/b%', []),
        () => other.rewind('a/b%', 'u1'),
        () => other.answer('a/b%', () => of({ id: 'x' })),
      ];
      for (const call of locked) await expect(call()).rejects.toMatchObject({ code: 'LOCKED' });
      const whole = (await other.resume('a/b%'))!;
      goOn();
      const pieces = [{ id: 'a1' }, { text: 'q: ' }, { text: '🏜\n\ud83c' }];
      expect(await all(answer.chunks)).toEqual(pieces);
      expect(await all(whole)).toEqual(pieces);
      await answer.saved;
      expect(heard?.aborted).toBe(false);
      expect(await other.load('a/b%')).toEqual([asks('u1', 'q'), says('a1', 'q: 🏜\n\ud83c')]);
      expect(await turnsOf('a%2Fb%25')).toEqual(['conversation.message', 'conversation.message']);
      expect([await other.resume('a/b%'), await other.branches('a/b%')]).toEqual([null, []]);
    });

    it('take a stream or a promise of one, and make nothing of an answer without chunks', async () => {
      const silent = await mine.answer(
        'none',
        async () => new ReadableStream({ start: (c) => c.close() }),
      );
      expect(await all(silent.chunks)).toEqual([]);
      expect([await other.load('none'), await other.resume('none')]).toEqual([[], null]);
    });

    it('read an answer that was cut off as far as it came, and go on', async () => {
      await mine.save('cut', [asks('u1', 'q')]);
      const { id } = (await store.contexts.byName('conversation/cut/main'))!;
      const header = { type: 'conversation.stream', encoding: 'bytes' } as const;
      const turn = await store.contexts.open(id, header);
      await turn.write('{"id":"a1"}\nno JSON\nnull\n7\n[1]\n{"note":1}\n');
      await turn.write(Buffer.from([0xff, 0x0a]));
      await turn.write(
        `{"text":"so far"}\n{"text":${'['.repeat(2000)}${']'.repeat(2000)}}\n{"text":"to`,
      );
      await turn.abort('the process is gone');
      expect(await all((await other.resume('cut'))!)).toEqual([
        { id: 'a1' },
        { text: 'so far' },
        { cut: 'the process is gone' },
      ]);
      expect(await other.load('cut')).toEqual([asks('u1', 'q'), says('a1', 'so far')]);
      await other.save('cut', [...(await other.load('cut')), asks('u2', 'go on')]);
      expect(await turnsOf('cut')).toEqual(Array.from({ length: 3 }, () => 'conversation.message'));
      expect(await other.branches('cut')).toEqual([]);
    });
  }

  function endSuite(): void {
    it('stop an answer at once from anywhere, also while its source is silent and deaf', async () => {
      await mine.save('stop', [asks('u1', 'q')]);
      let heard: AbortSignal | undefined;
      const answer = await mine.answer('stop', async function* ({ signal }) {
        heard = signal;
        yield { id: 'a1' };
        yield { text: 'so far' };
        await new Promise(() => undefined);
      });
      const seen: Piece[] = [];
      const reads = (async () => {
        for await (const piece of answer.chunks) seen.push(piece);
      })();
      await expect.poll(() => seen.length, PATIENCE).toBe(2);
      await Promise.all([other.stop('stop'), mine.stop('stop')]);
      await answer.saved;
      await reads;
      expect(seen.at(-1)).toEqual({ cut: 'stopped' });
      expect(heard?.aborted).toBe(true);
      expect(await other.load('stop')).toEqual([asks('u1', 'q'), says('a1', 'so far')]);
      expect(await other.resume('stop')).toBeNull();
      await mine.stop('stop');
      await mine.stop('never seen');
    });

    it('keep what came before a failure, and tell the readers of it', async () => {
      await mine.save('fail', [asks('u1', 'q')]);
      const failing = await mine.answer('fail', async function* () {
        yield { id: 'a1' };
        yield { text: 'so far' };
        throw new Error('the model is gone');
      });
      await expect(all(failing.chunks)).rejects.toThrow('the model is gone');
      await expect(failing.saved).rejects.toThrow('the model is gone');
      expect(await other.load('fail')).toEqual([asks('u1', 'q'), says('a1', 'so far')]);
      const never = await mine.answer('fail', () => {
        throw new Error('no model');
      });
      await expect(never.saved).rejects.toThrow('no model');
      const odd = await mine.answer('fail', () => of({ text: 1n as unknown as string }));
      await expect(odd.saved).rejects.toThrow('BigInt');
      expect(await other.load('fail')).toHaveLength(2);
    });

    it('end the answer of a conversation that is removed', async () => {
      const answer = await mine.answer('gone', () => new ReadableStream<Piece>());
      await other.remove('gone');
      expect(await all(answer.chunks)).toEqual([{ cut: 'stopped' }]);
      await answer.saved;
      expect(await store.contexts.byName('conversation/gone/main')).toBeUndefined();
    });
  }
}
