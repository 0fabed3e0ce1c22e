import { describe, expect } from 'vitest';
import { QuipuError } from '../../base/errors.ts';
import { ask, idsOf, openSearch, say, searchCases } from './fixture.ts';
import type { SearchTarget } from './search-target.ts';

const TEXTS = [
  'The parser of getUserName failed',
  'get_user_name is in src/users/names.ts',
  'Le café était fermé',
  'written in c++ and c#, not in c',
  '日本語のテキストを検索する',
  'error: connection refused at 127.0.0.1:5432',
];

const FINDS: readonly (readonly [query: string, texts: readonly number[]])[] = [
  ['parser failed', [0]],
  ['PARSER', [0]],
  ['"parser of"', [0]],
  ['"of parser"', []],
  ['getUserName', [0, 1]],
  ['get_user_name', [0, 1]],
  ['getusername', [0, 1]],
  ['user', [0, 1]],
  ['users/names.ts', [1]],
  ['names.ts', [1]],
  ['nam*', [0, 1]],
  ['getUs*', [0, 1]],
  ['cafe', [2]],
  ['CAFÉ ferme', [2]],
  ['c++', [3]],
  ['c#', [3]],
  ['検索', [4]],
  ['語', [4]],
  ['テキスト', [4]],
  ['検日', []],
  ['127.0.0.1', [5]],
  ['refused -error', []],
  ['parser OR refused', [0, 5]],
  ['(parser OR refused) -connection', [0]],
  ['-user', [2, 3, 4, 5]],
  ['NOT user NOT error', [2, 3, 4]],
  ['user -failed OR cafe', [1, 2]],
  ['nothing here', []],
  ['= refused ... -error * OR 👍 parser -', [0]],
];

const WRONG: readonly (readonly [query: string, at: number, says: RegExp])[] = [
  ['', 1, /empty/],
  ['foo "bar', 5, /quote is not closed/],
  ['(foo', 1, /not closed/],
  ['foo)', 4, /closes nothing/],
  ['foo OR', 7, /word is missing/],
  ['OR foo', 1, /word is missing before/],
  ['kind:nothing', 6, /kind: must be one of/],
  ['before:yesterday', 1, /date such as/],
  ['foo role:', 10, /needs a value/],
  ['a*', 1, /at least 2/],
  [' ... = ', 2, /no word to look for in "... ="/],
  ['foo OR =', 8, /no word to look for/],
  ['foo "..."', 5, /no word to look for/],
  ['foo (=)', 7, /word is missing before this bracket/],
  ['foo OR before:7d', 8, /limits the whole answer/],
  ['context:abc', 1, /id of a context/],
];

export function queriesSuite(target: SearchTarget): void {
  const it = searchCases(target);
  describe(`queries on ${target.name}`, () => {
    it('have words, phrases, prefixes, OR, NOT and groups, over identifiers and any language', async ({
      store,
    }) => {
      const { turns } = await say(store, ...TEXTS);
      for (const [query, texts] of FINDS) {
        const found = await idsOf(store, query);
        expect([query, found.toSorted()]).toEqual([query, texts.map((text) => turns[text])]);
      }
    });

    it('have fields', async ({ store }) => {
      const call = { type: 'tool_use', name: 'web_search', input: { q: 'roof tiles' } };
      const one = await say(
        store,
        { role: 'user', content: 'roof' },
        { role: 'assistant', model: 'Model-X 1.5', content: [call] },
        { role: 'assistant', type: 'note.v2', content: 'roof' },
      );
      const [first, second, third] = one.turns;
      const fork = await store.contexts.fork(BigInt(first ?? 0), { labels: ['red', 'blue'] });
      const other = await store.contexts.append(fork.id, { type: 'x', payload: 'roof' });
      const own = String(other.id);
      expect(await idsOf(store, 'roof role:user')).toEqual([first]);
      expect(await idsOf(store, 'roof model:"model-x 1.5"')).toEqual([second]);
      expect(await idsOf(store, 'tool:web_search')).toEqual([second]);
      expect(await idsOf(store, 'type:NOTE.V2')).toEqual([third]);
      expect((await idsOf(store, `roof context:${fork.id}`)).toSorted()).toEqual([first, own]);
      expect(await idsOf(store, `roof -context:${one.context}`)).toEqual([own]);
      expect(await idsOf(store, 'roof label:red label:blue')).toEqual([own]);
      expect(await idsOf(store, 'roof label:red -label:blue')).toEqual([]);
      expect(await idsOf(store, 'kind:chat')).toEqual([]);
      expect(await idsOf(store, 'roof after:1h')).toHaveLength(4);
      expect(await idsOf(store, 'roof before:2020-01-01')).toEqual([]);
      expect(await idsOf(store, 'roof -before:1h')).toHaveLength(4);
    });

    it.each(WRONG)('that are wrong get a caret: %s', async (query, at, says) => {
      const store = await openSearch(target);
      const failure = await store.search(query).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(QuipuError);
      const { code, message } = failure as QuipuError;
      expect(code).toBe('INVALID');
      expect(message).toMatch(says);
      expect(message.split('\n').at(-1)).toBe(`${' '.repeat(at + 1)}^`);
    });

    it('that are hostile are refused or answered', async ({ store }) => {
      await say(store, 'ab '.repeat(2000));
      const huge = 'x'.repeat(2000);
      const hostile = [
        huge,
        '('.repeat(50) + 'a' + ')'.repeat(50),
        Array.from({ length: 100 }, (_, n) => `w${n}`).join(' OR '),
        'ab\u0000cd',
        `"${'ab '.repeat(200)}"`,
      ];
      for (const query of hostile) {
        const failure = await store.search(query).then(
          () => 'answered',
          (error: unknown) => (error as QuipuError).code,
        );
        expect(['answered', 'INVALID']).toContain(failure);
      }
      for (const query of [
        "ab' OR 1=1 --",
        'part : "ab"',
        'NEAR(ab cd)',
        '"ab" * : ^ {a b}',
        "'&|!:*",
      ]) {
        const outcome = await store.search(query).then(
          () => 'answered',
          (error: unknown) => (error as QuipuError).code,
        );
        expect(['answered', 'INVALID']).toContain(outcome);
      }
      expect((await ask(store, 'ab')).hits).toHaveLength(1);
    });
  });
}
