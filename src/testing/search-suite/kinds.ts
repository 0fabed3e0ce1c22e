import { describe, expect } from 'vitest';
import { BUNDLE } from '../workflow-suite/fixture.ts';
import { ask, idsOf, openSearch, say, searchCases } from './fixture.ts';
import type { SearchTarget } from './search-target.ts';

export function kindsSuite(target: SearchTarget): void {
  const it = searchCases(target);
  describe(`the texts that search finds on ${target.name}`, () => {
    it('has turns of any type and encoding, and leaves bytes out', async ({ store }) => {
      const { id } = await store.contexts.create();
      const json = await store.contexts.append(id, {
        type: 'tool.result',
        payload: { output: ['the quick', { deep: 'brown fox' }], size: 12 },
      });
      const text = await store.contexts.append(id, {
        type: 'note',
        payload: 'a slow fox',
        encoding: 'text',
      });
      const packed = await store.contexts.append(id, {
        type: 'note',
        payload: { said: 'packed fox' },
        encoding: 'msgpack',
      });
      const data = Buffer.from('fox '.repeat(200)).toString('base64');
      await store.contexts.append(id, {
        type: 'picture',
        payload: { type: 'image', mimeType: 'image/png', data, note: 'secretly' },
      });
      await store.contexts.append(id, {
        type: 'raw',
        payload: Buffer.from('fox'),
        encoding: 'bytes',
      });
      const ids = [json, text, packed].map((turn) => String(turn.id));
      expect((await idsOf(store, 'fox')).toSorted()).toEqual(ids);
      expect(await idsOf(store, 'deep')).toEqual([]);
      expect(await idsOf(store, data.slice(0, 24))).toEqual([]);
      expect(await idsOf(store, 'secretly')).toHaveLength(1);
    });

    it('has the text of a stream once it is sealed', async ({ store }) => {
      const { id } = await store.contexts.create();
      const open = await store.contexts.open(id, { type: 'note', encoding: 'text' });
      await open.write('half a thou');
      expect(await idsOf(store, 'half')).toEqual([]);
      await open.write('ght');
      await open.seal();
      expect(await idsOf(store, 'half thought')).toEqual([String(open.id)]);
    });

    it('has messages of chats as they are now, and questions with answers', async ({ store }) => {
      const chat = await store.chats.open((await store.chats.create()).id);
      const added = await chat.add({ role: 'user', content: 'first draft', model: 'm-2' });
      const streamed = await chat.stream({ role: 'assistant' });
      await streamed.write('it is ');
      await streamed.write('streamed');
      await streamed.complete();
      expect(await idsOf(store, 'draft')).toEqual([added.id]);
      expect(await idsOf(store, 'streamed role:assistant kind:chat')).toEqual([streamed.id]);
      await chat.edit(added.id, 'final version');
      expect(await idsOf(store, 'draft')).toEqual([]);
      const [hit] = (await ask(store, 'version')).hits;
      expect(hit).toMatchObject({ kind: 'chat', thread: chat.id, id: added.id, role: 'user' });
      const batch = await chat.ask([{ id: 'q', text: 'which harbour', kind: 'text' }]);
      await chat.answer(batch, [{ question_id: 'q', value: 'the northern one' }]);
      expect(await idsOf(store, 'harbour OR northern')).toHaveLength(2);
      await chat.redactBatch(batch, { reason: 'asked to' });
      expect(await idsOf(store, 'harbour OR northern')).toEqual([]);
      await store.chats.remove(chat.id);
      expect(await idsOf(store, 'version OR streamed')).toEqual([]);
    });

    it('has prompts and steps of workflows, each once however many forks show it', async ({
      store,
    }) => {
      const { id } = await store.workflows.start({
        bundle: BUNDLE,
        name: 'mend',
        prompt: 'mend the roof',
      });
      const first = await store.workflows.step(id, {
        role: 'planner',
        content: 'look for a ladder',
        meta: { tools: ['hammer'] },
      });
      const fork = await store.workflows.fork(id, { at: first.hash });
      await store.workflows.step(fork.id, { role: 'worker', content: 'climb the ladder' });
      const shared = (await ask(store, 'look ladder')).hits;
      expect(shared).toMatchObject([{ kind: 'workflow', role: 'planner', thread: id }]);
      expect(shared[0]?.branches.toSorted()).toEqual([id, fork.id].toSorted());
      expect((await ask(store, 'climb')).hits).toMatchObject([{ branches: [fork.id] }]);
      expect(await idsOf(store, 'hammer')).toEqual([first.hash]);
      expect(await idsOf(store, 'roof type:prompt')).toHaveLength(1);
      await store.workflows.remove(id);
      expect((await ask(store, 'look ladder')).hits).toMatchObject([{ thread: fork.id }]);
    });

    it.runIf(target.keepsSessions !== false)('has entries and outputs of sessions', async () => {
      const store = await openSearch(target);
      const folder = target.sessionFolder?.();
      const session = await store.sessions.create(folder === undefined ? {} : { folder });
      const content = [{ type: 'text', text: 'open the gate' }];
      const entry = await session.append({ type: 'message', message: { role: 'user', content } });
      const saved = await session.saveArtifact('a creaking gate\n', 'bash');
      const { hits } = await ask(store, 'gate', { order: 'newest' });
      expect(hits.map(({ kind, id }) => `${kind} ${id}`).toSorted()).toEqual(
        [`artifact ${saved.id}`, `session ${entry.id}`].toSorted(),
      );
      await session.append({ type: 'message', message: { role: 'assistant', content } });
      expect(await idsOf(store, 'gate role:assistant')).toHaveLength(1);
      expect(await idsOf(store, 'creaking tool:bash kind:artifact')).toEqual([saved.id]);
      await session.close();
      await store.sessions.remove(session.id);
      expect(await idsOf(store, 'gate')).toEqual([]);
    });

    it('has events of queues', async ({ store }) => {
      const queue = await store.queues.open('inbox');
      await queue.push({ source: 'mail', type: 'message', content: 'a letter for you' });
      await queue.push({ source: 'self', type: 'record', content: '{"letter":"none"}' });
      const { hits } = await ask(store, 'letter for');
      expect(hits).toMatchObject([{ kind: 'queue', thread: 'inbox', id: '1', role: 'mail' }]);
      expect(await idsOf(store, 'none kind:queue')).toEqual(['2']);
    });

    it('finds what was committed before, also by others', async ({ store }) => {
      for (let n = 0; n < 5; n += 1) {
        const { turns } = await say(store, `word${n} and more`);
        expect(await idsOf(store, `word${n}`)).toEqual(turns);
      }
    });
  });
}
