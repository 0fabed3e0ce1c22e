import { describe, expect } from 'vitest';
import { failure } from '../engine-suite/fixture.ts';
import { brief, eventsOf, join, newChat, reopen, textsOf } from './fixture.ts';
import { openRig, rigCases } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';

export function messagesSuite(target: StoreTarget): void {
  const it = rigCases(target);
  describe('a chat', () => {
    it('keeps messages in order, and shows them again after a restart', async () => {
      const rig = await openRig(target, { clock: () => Date.UTC(2026, 10, 15) });
      const chat = await newChat(rig);
      const first = await chat.add({ role: 'user', content: 'hi', id: 'm1' });
      expect(first).toEqual({
        id: 'm1',
        seq: 1,
        at: '2026-11-15T00:00:00.000Z',
        role: 'user',
        branch: 'main',
        content: 'hi',
        state: 'complete',
        edits: 0,
        attachments: [],
      });
      await chat.add({
        role: 'assistant',
        content: 'hello',
        id: 'm2',
        model: 'x',
        usage: { inputTokens: 3, outputTokens: 5 },
      });
      const again = await reopen(rig, 'c1');
      expect((await again.messages()).messages.map(brief)).toEqual([
        'm1 user: hi',
        'm2 assistant: hello',
      ]);
      expect(await again.status()).toMatchObject({
        id: 'c1',
        title: 'talk',
        events: 2,
        messages: 2,
        problems: 0,
        usage: { inputTokens: 3, outputTokens: 5, byRole: { user: 1, assistant: 1 } },
      });
      expect(await rig.store.chats.list()).toMatchObject({ items: [{ id: 'c1', events: 2 }] });
    });

    it('edits by adding, whatever comes later', async ({ rig }) => {
      const chat = await newChat(rig);
      await chat.add({ role: 'user', content: 'one', id: 'm' });
      await chat.edit('m', 'two');
      await chat.append({
        type: 'message_completed',
        payload: { message_id: 'm', role: 'user', content: 'three' },
      });
      expect(await chat.message('m')).toMatchObject({ content: 'two', edits: 1 });
      expect((await chat.events()).events[0]).toMatchObject({ payload: { content: 'one' } });
      await failure(chat.edit('nobody', 'x'), 'NOT_FOUND');
    });

    it('goes on along branches', async ({ rig }) => {
      const chat = await newChat(rig);
      for (const id of ['a', 'b', 'c']) await chat.add({ role: 'user', content: id, id });
      const side = await chat.fork('b');
      await chat.add({ role: 'user', content: 'd', id: 'd', branch: side });
      await chat.fork('d', { branch: 'deep' });
      await chat.add({ role: 'user', content: 'e', branch: 'deep' });
      await chat.add({ role: 'user', content: 'f', branch: side });
      expect(await textsOf(chat)).toEqual(['a', 'b', 'c']);
      const again = await reopen(rig, 'c1');
      expect(await textsOf(again, side)).toEqual(['a', 'b', 'd', 'f']);
      expect(await textsOf(again, 'deep')).toEqual(['a', 'b', 'd', 'e']);
      expect(await textsOf(again, '*')).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
      await failure(chat.fork('b', { branch: 'deep' }), 'EXISTS');
      await failure(chat.fork('zz'), 'NOT_FOUND');
      await failure(chat.messages({ branch: 'nowhere' }), 'NOT_FOUND');
      await failure(chat.add({ role: 'user', content: '', branch: 'nowhere' }), 'NOT_FOUND');
    });

    it('goes on from before a message, so that another one takes its place', async ({ rig }) => {
      const chat = await newChat(rig);
      for (const id of ['a', 'b', 'c']) await chat.add({ role: 'user', content: id, id });
      const edited = await chat.fork('b', { before: true });
      await chat.add({ role: 'user', content: 'B', id: 'B', branch: edited });
      const first = await chat.fork('a', { before: true, branch: 'first' });
      await chat.add({ role: 'user', content: 'A', branch: first });
      const deep = await chat.fork('B', { before: true });
      const again = await reopen(rig, 'c1');
      expect(await textsOf(again, edited)).toEqual(['a', 'B']);
      expect(await textsOf(again, first)).toEqual(['A']);
      expect(await textsOf(again, deep)).toEqual(['a']);
      expect(await textsOf(again)).toEqual(['a', 'b', 'c']);
      await failure(chat.fork('b', { before: 1 as never }), 'INVALID');
    });

    it('pages from the newest message to the oldest', async () => {
      const chat = await newChat(await openRig(target));
      for (let n = 0; n < 7; n += 1) await chat.add({ role: 'user', content: `${n}` });
      const last = await chat.messages({ limit: 3 });
      expect(last.messages.map(({ content }) => content)).toEqual(['4', '5', '6']);
      const before = await chat.messages({ limit: 4, before: last.before ?? 0 });
      expect(before.messages.map(({ content }) => content)).toEqual(['0', '1', '2', '3']);
      expect(before.before).toBeUndefined();
    });

    it('finds messages by what they say now', async () => {
      const chat = await newChat(await openRig(target));
      await chat.add({ role: 'user', content: 'the Parser is slow', id: 'a' });
      await chat.add({ role: 'user', content: 'no', id: 'b' });
      await chat.edit('b', 'PARSER again');
      expect((await chat.search('parser')).messages.map(({ id }) => id)).toEqual(['b', 'a']);
      const { messages: one, before } = await chat.search('parser', { limit: 1 });
      expect(one).toHaveLength(1);
      const rest = await chat.search('parser', before === undefined ? {} : { before });
      expect(rest).toMatchObject({ messages: [{ id: 'a' }] });
      expect(rest).not.toHaveProperty('before');
      await chat.redact('a', { reason: 'private' });
      expect((await chat.search('parser')).messages.map(({ id }) => id)).toEqual(['b']);
    });

    it('keeps long payloads and attachments in blobs', { timeout: 60_000 }, async ({ rig }) => {
      const chat = await newChat(rig);
      const long = 'x'.repeat(10_000_000);
      await chat.add({ role: 'tool', content: long, id: 'big' });
      const log = await rig.engine.readLog(eventsOf('c1'), 0, 10);
      expect(log[0]!.length).toBeLessThan(400);
      const file = await chat.attach(new Uint8Array([1, 2, 3]), { name: 'a.bin', message: 'big' });
      expect(file).toMatchObject({ name: 'a.bin', size: 3, mediaType: 'application/octet-stream' });
      const again = await reopen(rig, 'c1');
      const message = await again.message('big');
      expect(message?.content.length).toBe(10_000_000);
      expect(message?.attachments).toEqual([file]);
      await rig.store.maintain.gc({ graceMs: 0 });
      expect(await rig.store.blobs.get(file.hash)).toEqual(new Uint8Array([1, 2, 3]));
      expect((await again.message('big'))?.content.length).toBe(10_000_000);
      await failure(chat.add({ role: 'tool', content: 'x'.repeat(33_554_432) }), 'TOO_LARGE');
    });

    it('refuses what makes no sense, and stores nothing of it', async ({ rig }) => {
      const chat = await newChat(rig);
      const bad = [
        chat.add({ role: '', content: 'x' }),
        chat.add({ role: 'user', content: 5 as never }),
        chat.add({ role: 'user', content: '\ud800' }),
        chat.add({ role: 'user', content: 'x', id: 'with-hyphen' }),
        chat.append({ type: 'Bad Type', payload: {} }),
        chat.append({ type: 'message_added', payload: { message_id: 'm' } }),
        chat.append({ type: 'x', payload: [] as never }),
        chat.append([]),
        rig.store.chats.create({ id: 'a-b' }),
      ];
      for (const result of await Promise.allSettled(bad)) {
        expect(result).toMatchObject({ status: 'rejected', reason: { code: 'INVALID' } });
      }
      await failure(chat.append({ type: 'x', payload: {} }, { expectedSeq: -1 }), 'HEAD_MOVED');
      expect(await chat.status()).toMatchObject({ events: 0 });
      await chat.add({ role: 'user', content: '\\ud800 is a text', id: 'm' });
      const taken = [
        ['chat', 'c1', () => rig.store.chats.create({ id: 'c1' })],
        ['message', 'm', () => chat.add({ role: 'user', content: 'again', id: 'm' })],
        ['message', 'm', () => chat.stream({ role: 'user', id: 'm' })],
        ['branch', 'main', () => chat.fork('m', { branch: 'main' })],
      ] as const;
      for (const [what, id, call] of taken) {
        expect(await failure(call(), 'EXISTS')).toMatchObject({ data: { what, id } });
      }
      await failure(rig.store.chats.open('nobody'), 'NOT_FOUND');
    });

    it('has calls of tools and artifacts as events of their own', async ({ rig }) => {
      const chat = await newChat(rig);
      await chat.add({ role: 'assistant', content: 'I run it', id: 'm' });
      const call = { name: 'bash', arguments: { command: 'make' }, message: 'm', id: 'call-1' };
      expect(await chat.callTool(call)).toBe('call-1');
      await chat.returnTool('call-1', { result: { code: 0, out: 'made' } });
      const own = await chat.callTool({ name: 'read' });
      await chat.returnTool(own, { error: 'no such file' });
      const report = { name: 'report.html', message: 'm', artifact: true, call: 'call-1' };
      const artifact = await chat.attach(new Uint8Array([7]), report);
      expect(artifact).toMatchObject({ mediaType: 'text/html', artifact: true, size: 1 });
      await chat.attach(new Uint8Array([8]), { name: 'shot.PNG', message: 'm' });
      await chat.attach(new Uint8Array([9]), { name: 'what', message: 'm' });
      const again = await reopen(rig, 'c1');
      const { events, problems } = await again.events();
      expect(problems).toEqual([]);
      expect(events.slice(1, 6)).toMatchObject([
        { type: 'tool_called', payload: { call_id: 'call-1', name: 'bash', message_id: 'm' } },
        { type: 'tool_returned', payload: { call_id: 'call-1', result: { out: 'made' } } },
        { type: 'tool_called', payload: { call_id: own, name: 'read' } },
        { type: 'tool_returned', payload: { call_id: own, error: 'no such file' } },
        { type: 'artifact_added', payload: { call_id: 'call-1', hash: artifact.hash } },
      ]);
      const { attachments = [] } = (await again.message('m')) ?? {};
      expect(attachments.map(({ mediaType }) => mediaType)).toEqual([
        'text/html',
        'image/png',
        'application/octet-stream',
      ]);
      await rig.store.maintain.gc({ graceMs: 0 });
      expect(await rig.store.blobs.has(artifact.hash)).toBe(true);
      await again.redact('m', { reason: 'private', erase: true });
      expect(await rig.store.blobs.has(artifact.hash)).toBe(false);
      const left = await join(again.export({ format: 'json' }));
      for (const gone of ['make', 'bash', 'report.html']) expect(left).not.toContain(gone);
      expect(await again.status()).toMatchObject({ problems: 0 });
      for (const bad of [{}, { result: 1, error: 'x' }, { error: 5 }]) {
        await failure(again.returnTool('call-1', bad as never), 'INVALID');
      }
      await failure(again.callTool({ name: '' }), 'INVALID');
      await failure(again.callTool({ name: 'x', message: 'nobody' }), 'NOT_FOUND');
    });

    it('reports no type that a program has registered', async ({ rig }) => {
      const { chats } = rig.store;
      const chat = await newChat(rig);
      await chat.append({ type: 'app.note', payload: { n: 1 } });
      await chat.append({ type: 'app.vote', payload: { n: 2 }, schemaVersion: 3 });
      expect(await chat.status()).toMatchObject({ problems: 2 });
      expect((await chat.problems())[0]).toMatchObject({ kind: 'unknown-type', type: 'app.note' });
      await Promise.all([
        chats.registerType('app.note', { about: 'a note' }),
        chats.registerType('app.vote'),
      ]);
      const again = await reopen(rig, 'c1');
      expect(await again.status()).toMatchObject({ problems: 0, events: 2 });
      expect(await again.problems()).toEqual([]);
      expect(await again.events()).toMatchObject({ problems: [], events: [{}, {}] });
      expect((await chats.types()).map(({ type }) => type)).toEqual(['app.note', 'app.vote']);
      await chats.forgetType('app.vote');
      expect((await again.problems()).map(({ type }) => type)).toEqual(['app.vote']);
      await failure(chats.forgetType('app.vote'), 'NOT_FOUND');
      await failure(chats.registerType('message_added'), 'INVALID');
      await failure(chats.registerType('Bad Type'), 'INVALID');
    });

    it('follows what is there and what comes, until it is removed', async ({ rig }) => {
      const chat = await newChat(rig);
      await chat.add({ role: 'user', content: 'a' });
      const seen: number[] = [];
      const following = (async () => {
        for await (const { seq } of chat.follow()) seen.push(seq);
      })();
      await chat.add({ role: 'user', content: 'b' });
      await chat.add({ role: 'user', content: 'c' });
      while (seen.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
      await rig.store.chats.remove('c1');
      await following;
      expect(seen).toEqual([1, 2, 3]);
      await failure(rig.store.chats.open('c1'), 'NOT_FOUND');
    });
  });
}
