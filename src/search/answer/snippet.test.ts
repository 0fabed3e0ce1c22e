import { describe, expect, it } from 'vitest';
import { parseQuery } from '../query/parse-query.ts';
import { wantedLeaves } from '../query/query.ts';
import { makeSnippet } from './snippet.ts';

function marked(text: string | string[], query: string): { words: string[]; text: string } {
  const leaves = wantedLeaves(parseQuery(query, 0).condition);
  const snippet = makeSnippet([text].flat(), leaves);
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
    expect(makeSnippet([], [])).toEqual({ text: '', marks: [] });
  });
});

it('takes little longer for many words than for one, also in a text that is full of them', () => {
  const words = Array.from({ length: 64 }, (_, n) => `${'abcdefgh'[n % 8]}${'ijklmnop'[n >> 3]}`);
  const text = Array.from({ length: 80_000 }, (_, n) => words[n % 64]).join(' ');
  const tookMs = (query: string): number => {
    const leaves = wantedLeaves(parseQuery(query, 0).condition);
    const tries = Array.from({ length: 3 }, () => {
      const startedMs = performance.now();
      expect(makeSnippet([text], leaves).marks.length).toBeGreaterThan(0);
      return performance.now() - startedMs;
    });
    return Math.min(...tries);
  };
  expect(tookMs(words.join(' OR '))).toBeLessThan(6 * tookMs('ai'));
});
