import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuery } from '../query/parse-query.ts';
import { wantedLeaves } from '../query/query.ts';
import { findPlaces, makeSnippet, toWanted, wordFinder } from './snippet.ts';

function marked(text: string | string[], query: string): { words: string[]; text: string } {
  const leaves = wantedLeaves(parseQuery(query, 0).condition);
  const snippet = makeSnippet([text].flat(), toWanted(leaves));
  return {
    words: snippet.marks.map(([from, to]) => snippet.text.slice(from, to)),
    text: snippet.text,
  };
}

describe('makeSnippet', () => {
  it.each<[string, string, string[]]>([
    ['The Parser failed', 'parser', ['Parser']],
    ['call getUserName() now', 'getusername', ['getUserName']],
    ['call get_user_name now', 'getUserName', ['get_user_name']],
    ['call getUserName now', 'user', ['User']],
    ['call getUserName now', 'getus*', ['getUser']],
    ['in c++, and c', 'c++', ['c++']],
    ['see src/users/names.ts', 'users/names.ts', ['users/names.ts']],
    ['a phrase of words', '"phrase of"', ['phrase of']],
    ['日本語の検索', '本語', ['本語']],
    ['Café société', 'societe OR cafe', ['Café', 'société']],
    ['nothing of it', 'absent', []],
    ['one two', 'one -two', ['one']],
  ])('marks in %j for %j', (text, query, words) => {
    expect(marked(text, query).words).toEqual(words);
  });

  it('shows the stretch with the most different words', () => {
    const text = `alpha ${'filler '.repeat(60)} alpha beta gamma ${'filler '.repeat(60)} beta`;
    const { words, text: shown } = marked(text, 'alpha beta gamma');
    expect(words).toEqual(['alpha', 'beta', 'gamma']);
    expect(shown.startsWith('…')).toBe(true);
    expect(shown.length).toBeLessThan(230);
  });

  it('looks at every text, and stays on one line', () => {
    expect(marked(['first', 'line one\n\n\tneedle\u0007 here'], 'needle').text).toBe(
      'line one needle here',
    );
    expect(makeSnippet([], toWanted([]))).toEqual({ text: '', marks: [] });
  });
});

describe('wordFinder', () => {
  it('finds every place of every wanted word, in order and without overlap', () => {
    const find = wordFinder('parser OR "parser fails" role:user -absent');
    const text = 'The Parser fails, the parser absent';
    expect(find(text).map(([from, to]) => text.slice(from, to))).toEqual([
      'Parser fails',
      'parser',
    ]);
    expect(find('')).toEqual([]);
    expect(wordFinder('role:user')(text)).toEqual([]);
  });

  it('refuses what is no query', () => {
    expect(() => wordFinder('"open')).toThrow('not closed');
  });
});

it('takes little longer for many words than for a few, also in a text that is full of them', () => {
  const words = Array.from({ length: 64 }, (_, n) => `${'abcdefgh'[n % 8]}${'ijklmnop'[n >> 3]}`);
  const text = Array.from({ length: 80_000 }, (_, n) => words[n % 64]).join(' ');
  const tookMs = (query: string): number => {
    const wanted = toWanted(wantedLeaves(parseQuery(query, 0).condition));
    const startedMs = performance.now();
    expect(makeSnippet([text], wanted).marks.length).toBeGreaterThan(0);
    return performance.now() - startedMs;
  };
  // The best times of both, as often as a busy machine needs. With each word looked for by itself, none would do.
  let [many, few] = [Infinity, Infinity];
  for (let round = 0; round < 20 && many >= 6 * few; round += 1) {
    many = Math.min(many, tookMs(words.join(' OR ')));
    few = Math.min(few, tookMs(words.slice(0, 9).join(' OR ')));
  }
  expect(many).toBeLessThan(6 * few);
});

it('finds the same places whether or not it looks at every word', () => {
  const ascii = ['a', 'b', 'A', 'B', 'ab', '1', '_', '++', '#', ' ', ' ', '.'];
  // Letters with a mark in or behind them, of other scripts, of two letters in one, of two halves; signs and a smiley.
  const others = ['ä', 'B\u0308', 'ß', 'Ж', 'й', '日', 'が', 'ﬁ', 'ＡＢ', '½', '𝐚', 'ª', '»', '😀'];
  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...ascii) },
    fc.constantFrom(...others),
  );
  const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
  const queries = [
    'a',
    'ab',
    'ab*',
    'a_b',
    '"a b"',
    '"a a"',
    '"a ab*"',
    'b++',
    'a.b.a',
    'a1 OR b',
    'ä',
    'fi',
    'ж1',
    '日a',
    '12',
  ];
  const query = fc.array(fc.constantFrom(...queries), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(text, query, (some, words) => {
      const wanted = toWanted(wantedLeaves(parseQuery(words.join(' '), 0).condition));
      const everyWord = { ...wanted, hints: undefined };
      expect(findPlaces(some, wanted)).toEqual(findPlaces(some, everyWord));
    }),
    { numRuns: 500 },
  );
});
