import { describe, expect } from 'vitest';
import { ask, idsOf, openSearch, say, searchCases } from './fixture.ts';
import type { SearchTarget } from './search-target.ts';
import { eachPage } from '../../base/pages.ts';
import type { SearchOptions } from '../../search/contract/search.ts';

export function answersSuite(target: SearchTarget): void {
  const it = searchCases(target);
  describe(`answers on ${target.name}`, () => {
    it('are ranked by how much of a text the words are, or by time', async ({ store }) => {
      const { turns } = await say(
        store,
        'harbour',
        `${'filler words here '.repeat(30)} harbour`,
        `harbour harbour harbour ${'filler words here '.repeat(5)}`,
        'another harbour',
      );
      const [first, long, often, last] = turns;
      expect(await idsOf(store, 'harbour', { order: 'newest' })).toEqual([
        last,
        often,
        long,
        first,
      ]);
      const best = await idsOf(store, 'harbour');
      expect(best.indexOf(String(long))).toBe(3);
      expect(new Set(best.slice(0, 3))).toEqual(new Set([first, often, last]));
    });

    it('have a rare word count for more than a common one', async ({ store }) => {
      const common = Array.from({ length: 40 }, (_, n) => `the weather of day ${n} was common`);
      await say(store, ...common);
      const { turns } = await say(
        store,
        'zebra crossing in the weather',
        'the the weather weather',
      );
      expect((await idsOf(store, 'zebra OR weather'))[0]).toBe(turns[0]);
    });

    it('come in pages that stay right while turns arrive', async ({ store }) => {
      const { context, turns } = await say(
        store,
        ...Array.from({ length: 25 }, (_, n) => `page ${'word '.repeat(n % 7)}`),
      );
      for (const order of ['best', 'newest'] as const) {
        const seen: string[] = [];
        const options = { order, limit: 4 };
        const pages = eachPage((after) => ask(store, 'page', { ...options, ...after }));
        for await (const { hits } of pages) {
          expect(hits.length).toBeLessThanOrEqual(4);
          seen.push(...hits.map(({ id }) => id));
          await store.contexts.append(BigInt(context), { type: 'late', payload: 'a late page' });
        }
        const known = seen.filter((id) => turns.includes(id));
        expect(new Set(known).size).toBe(known.length);
        expect(known.toSorted()).toEqual(turns.toSorted());
      }
      const { cursor = '' } = await ask(store, 'page', { limit: 4 });
      await expect(store.search('other', { cursor })).rejects.toMatchObject({ code: 'INVALID' });
      await expect(store.search('page', { cursor: 'nonsense' })).rejects.toMatchObject({
        code: 'INVALID',
      });
    });

    it('mark the words in a part of the text', async ({ store }) => {
      await say(
        store,
        `${'nothing of note. '.repeat(40)}Here getUserName() is called. ${'more. '.repeat(90)}`,
      );
      const [hit] = (await ask(store, 'get_user_name called')).hits;
      const { text = '', marks = [] } = hit?.snippet ?? {};
      expect(marks.map(([from, to]) => text.slice(from, to))).toEqual(['getUserName', 'called']);
      expect(text.length).toBeLessThan(260);
      expect(text.startsWith('…') && text.endsWith('…')).toBe(true);
    });

    it('name every branch that shows a turn, and show it once', async ({ store }) => {
      const { context, turns } = await say(store, 'root of it', 'second step', 'third step');
      const second = BigInt(turns[1] ?? 0);
      const one = await store.contexts.fork(second);
      await store.contexts.append(one.id, { type: 'x', payload: 'own step' });
      const two = await store.contexts.fork((await store.contexts.get(one.id))?.head ?? 0n);
      const branchesOf = async (query: string): Promise<readonly string[] | undefined> =>
        (await ask(store, query)).hits[0]?.branches.toSorted();
      const all = [context, String(one.id), String(two.id)].toSorted();
      expect(await branchesOf('root')).toEqual(all);
      expect(await branchesOf('second')).toEqual(all);
      expect(await branchesOf('third')).toEqual([context]);
      expect(await branchesOf('own')).toEqual([String(one.id), String(two.id)].toSorted());
      expect((await ask(store, 'step')).hits).toHaveLength(3);
    });

    it('group hits by thread, and count them', async ({ store }) => {
      const one = await say(store, 'group of five', 'group', 'group', 'group', 'group');
      const two = await say(store, { role: 'user', content: 'group', model: 'm' }, 'no');
      const chat = await store.chats.open((await store.chats.create()).id);
      await chat.add({ role: 'user', content: 'a group chat' });
      const answer = await ask(store, 'group', { group: true, facets: true });
      const found = answer.groups?.map(({ kind, thread, matches, hits }) => [
        kind,
        thread,
        matches,
        hits.length,
      ]);
      expect(found?.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
        ['chat', chat.id, 1, 1],
        ['context', one.context, 5, 3],
        ['context', two.context, 1, 1],
      ]);
      expect(answer.matches).toBe(7);
      expect(answer.ranked).toBe('all');
      expect(answer.facets?.kind).toEqual([
        { value: 'context', count: 6 },
        { value: 'chat', count: 1 },
      ]);
      expect(answer.facets?.model).toEqual([{ value: 'm', count: 1 }]);
      expect(answer.facets?.type.map(({ value }) => value)).toEqual(['chat.message', 'message']);
      expect(answer.facets?.day.reduce((sum, { count }) => sum + count, 0)).toBe(7);
      const first = await ask(store, 'group', { group: true, limit: 2 });
      const { cursor = '' } = first;
      const rest = await ask(store, 'group', { group: true, limit: 2, cursor });
      const threads = [...(first.groups ?? []), ...(rest.groups ?? [])].map(({ thread }) => thread);
      expect(threads.toSorted()).toEqual([chat.id, one.context, two.context].toSorted());
    });

    it('come with what stands around a hit', async ({ store }) => {
      await say(store, 'one', 'two', 'three is the needle', 'four', 'five');
      const [hit] = (await ask(store, 'needle', { around: 1 })).hits;
      expect(hit?.around?.map(({ text }) => text)).toEqual(['two', 'three is the needle', 'four']);
      const chat = await store.chats.open((await store.chats.create()).id);
      for (const content of ['before it', 'the pin', 'after it'])
        await chat.add({ role: 'user', content });
      const [pin] = (await ask(store, 'pin', { around: 2 })).hits;
      expect(pin?.around?.map(({ text }) => text)).toEqual(['before it', 'the pin', 'after it']);
    });

    it('find words in long texts', async ({ store }) => {
      const filler = Array.from({ length: 6000 }, (_, n) => `w${n}`).join(' ');
      const { turns } = await say(store, `${filler} needle in the end`, `needle first ${filler}`);
      expect((await idsOf(store, 'needle')).toSorted()).toEqual(turns.toSorted());
      expect(await idsOf(store, '"needle in the end"')).toEqual([turns[0]]);
      expect(
        (await idsOf(store, '"w4090 w4091 w4092 w4093 w4094 w4095 w4096 w4097"')).toSorted(),
      ).toEqual(turns.toSorted());
    });

    it('find words in texts that are hard to keep', async ({ store }) => {
      const long = Array.from({ length: 3000 }, (_, n) => `${'ж'.repeat(120)}${n}`).join(' ');
      const { turns } = await say(
        store,
        `${'the '.repeat(700)}last the needle`,
        `${long} hay the needle`,
      );
      expect((await idsOf(store, '"the needle"')).toSorted()).toEqual(turns.toSorted());
      expect(await idsOf(store, '"the the last the needle"')).toEqual([turns[0]]);
      expect(await idsOf(store, `"${'ж'.repeat(120)}2999 hay the needle"`)).toEqual([turns[1]]);
    });

    it.runIf(target.takesExtractors !== false)('use extractors of their own', async () => {
      const extractors = {
        'my.type': (value: unknown) => (value as { title: string }).title,
        'bad.type': () => {
          throw new Error('it fails');
        },
      };
      const store = await openSearch(target, { search: { extractors } });
      const { id } = await store.contexts.create();
      const payload = { title: 'the visible title', body: 'the invisible body' };
      const turn = await store.contexts.append(id, { type: 'my.type', payload });
      await store.contexts.append(id, { type: 'bad.type', payload });
      const plain = await store.contexts.append(id, { type: 'other', payload });
      expect((await idsOf(store, 'visible')).toSorted()).toEqual(
        [turn, plain].map((one) => String(one.id)),
      );
      expect(await idsOf(store, 'invisible')).toEqual([String(plain.id)]);
    });

    it('refuse options that make no sense', async ({ store }) => {
      const wrong = [{ limit: 0 }, { limit: 1000 }, { around: -1 }, { order: 'worst' as never }];
      for (const options of wrong) {
        await expect(store.search('x', options)).rejects.toMatchObject({ code: 'INVALID' });
      }
      const misspelled = { limits: 5 } as SearchOptions;
      await expect(store.search('x', misspelled)).rejects.toMatchObject({ code: 'INVALID' });
      await expect(store.search(5 as never)).rejects.toMatchObject({ code: 'INVALID' });
    });
  });
}
