import { describe, expect } from 'vitest';

import type { EngineTarget } from './engine-target.ts';
import { failure, only, openEngine, putDoc, engineCases } from './fixture.ts';

export function docSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('documents', () => {
    it('keeps the newest content as given, and counts versions', async ({ engine }) => {
      const contents = ['{"a": 1}', ' [1,\n 2] ', '"ü\u{1F600}"', 'null'];
      for (const [index, content] of contents.entries()) {
        const committed = await engine.commit({ docs: [{ name: 'threads.json', content }] });
        const row = { name: 'threads.json', version: index + 1, content };
        expect(only(committed.docs)).toEqual(row);
        expect(await engine.getDoc('threads.json')).toEqual(row);
      }
      expect(await engine.getDoc('missing')).toBeUndefined();
    });

    it('counts on across a removal', async ({ engine }) => {
      await putDoc(engine, 'a', '1');
      const removal = await engine.commit({ docs: [{ name: 'a', content: undefined }] });
      expect(removal.docs).toEqual([]);
      expect(await engine.getDoc('a')).toBeUndefined();
      expect(await engine.listDocs('a', 10)).toEqual([]);
      await putDoc(engine, 'a', undefined);
      await putDoc(engine, 'a', '2');
      expect(await engine.getDoc('a')).toEqual({ name: 'a', version: 2, content: '2' });
    });

    it('keeps a large document', async ({ engine }) => {
      const content = JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ n })));
      await putDoc(engine, 'large', content);
      expect((await engine.getDoc('large'))?.content).toBe(content);
    });

    it('reads a published document like any other', async ({ engine }) => {
      await engine.commit({ docs: [{ name: 'chats/1.meta.json', content: '{}', publish: true }] });
      await engine.commit({
        docs: [{ name: 'chats/1.meta.json', content: '{"a":1}', publish: true }],
      });
      expect(await engine.getDoc('chats/1.meta.json')).toMatchObject({
        version: 2,
        content: '{"a":1}',
      });
      await putDoc(engine, 'chats/1.meta.json', undefined);
      expect(await engine.getDoc('chats/1.meta.json')).toBeUndefined();
    });

    it('lists names by prefix, sorted, in pages', async ({ engine }) => {
      for (const name of ['x/b', 'x/a', 'x/C', 'xy', 'x', 'y/a']) await putDoc(engine, name, '1');
      expect(await engine.listDocs('x/', 10)).toEqual(['x/C', 'x/a', 'x/b']);
      expect(await engine.listDocs('x', 3)).toEqual(['x', 'x/C', 'x/a']);
      expect(await engine.listDocs('x', 3, 'x/a')).toEqual(['x/b', 'xy']);
      expect(await engine.listDocs('x/', 10, 'x/b')).toEqual([]);
    });

    it('lets a change of a batch see the ones before it', async ({ engine }) => {
      const put = (content: string | undefined, expectedVersion: number) => ({
        name: 'a',
        content,
        expectedVersion,
      });
      await engine.commit({ docs: [put('1', 0), put('2', 1)] });
      expect(await engine.getDoc('a')).toEqual({ name: 'a', version: 2, content: '2' });
      await engine.commit({ docs: [put(undefined, 2), put('3', 0)] });
      expect(await engine.getDoc('a')).toEqual({ name: 'a', version: 3, content: '3' });
    });

    it('changes a document only at the expected version', async ({ engine }) => {
      const put = (content: string | undefined, expectedVersion: number) =>
        engine.commit({ docs: [{ name: 'a', content, expectedVersion }] });
      await failure(put('1', 1), 'HEAD_MOVED');
      await put('1', 0);
      await failure(put('2', 0), 'HEAD_MOVED');
      await put('2', 1);
      const error = await failure(put('3', 1), 'HEAD_MOVED');
      expect(error.data).toEqual({ context: 'a', expected: '1', head: '2' });
      await failure(put(undefined, 1), 'HEAD_MOVED');
      await put(undefined, 2);
      await failure(put('4', 2), 'HEAD_MOVED');
      await put('4', 0);
      expect(await engine.getDoc('a')).toEqual({ name: 'a', version: 3, content: '4' });
    });

    it.each(['', 'x', '{', "{'a':1}", '1 2', '"\ud800"'])(
      'refuses the content %j',
      async (content) => {
        const engine = await openEngine(target);
        await failure(putDoc(engine, 'a', content), 'INVALID');
        expect(await engine.getDoc('a')).toBeUndefined();
      },
    );

    it.each([
      '',
      '/a',
      '..',
      'a/../../b',
      'a b',
      'turns/x',
      'contexts/1.json',
      'index.db',
      'x'.repeat(513),
      'Turns/x',
      'TOKENS.json',
      'index.db-wal',
      'queues/inbox/events.db',
    ])('refuses the name %j', async (name) => {
      const engine = await openEngine(target);
      await failure(putDoc(engine, name, '{}'), 'INVALID');
    });

    it.each(['x.json', 'Chats/x.json', 'chats', 'session/x', 'lock.db-journal', 'pins/turns.json'])(
      'keeps no document as the file %j',
      async (name) => {
        const engine = await openEngine(target);
        const publish = engine.commit({ docs: [{ name, content: '{}', publish: true }] });
        await failure(publish, 'INVALID');
        expect(await engine.getDoc(name)).toBeUndefined();
      },
    );
  });
}
