import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold, foldAll, tokenize, type PartSpan, type Tokens } from './tokenize.ts';

function tokens(text: string): Tokens {
  const into: Tokens = { parts: [], wholes: [] };
  tokenize(text, into);
  return into;
}

describe('tokenize', () => {
  it.each<[string, string[], string[]]>([
    ['Hello, World!', ['hello', 'world'], []],
    ['getUserName', ['get', 'user', 'name'], ['getusername']],
    ['get_user_name', ['get', 'user', 'name'], ['getusername']],
    ['__init__', ['init'], []],
    ['HTTPServer2Go', ['http', 'server2', 'go'], ['httpserver2go']],
    ['sha256Hex utf8', ['sha256', 'hex', 'utf8'], ['sha256hex']],
    ['src/base/brand.ts', ['src', 'base', 'brand', 'ts'], []],
    ['C++ and c#, i++', ['c', 'and', 'c', 'i'], ['c++', 'c#', 'i++']],
    ['a+b a#b ##', ['a', 'b', 'a', 'b'], []],
    ['Éléphant ÜBER ﬁn', ['elephant', 'uber', 'fin'], []],
    ['e\u0301te\u0301', ['ete'], []],
    ['ΟΔΟΣ', ['οδοσ'], []],
    ['日本語', ['日本', '本語', '語'], []],
    ['v8の力', ['v8', 'の力', '力'], []],
    ['한국어', ['한국', '국어', '어'], []],
    ['𝒜𝒷 𠮷野', ['ab', '𠮷野', '野'], []],
    ['x'.repeat(129), [], []],
    ['🙂 ... \u0000', [], []],
  ])('%j', (text, parts, wholes) => {
    expect(tokens(text)).toEqual({ parts, wholes });
  });

  it('notes where each part was', () => {
    const text = 'see getName: 日本語';
    const spans: PartSpan[] = [];
    tokenize(text, { parts: [], wholes: [] }, spans);
    expect(spans.map(({ start, end }) => text.slice(start, end))).toEqual([
      'see',
      'get',
      'Name',
      '日本',
      '本語',
      '語',
    ]);
  });

  it('takes lone surrogates for separators', () => {
    expect(tokens('a\ud800b\udc00c').parts).toEqual(['a', 'b', 'c']);
  });
});

it('folds letter by letter what it folds as a whole', () => {
  const unit = fc.integer({ min: 0, max: 0x05ff }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 8 }), (units) => {
      const run = units.join('');
      expect(fold(run)).toBe(foldAll(run));
    }),
    { numRuns: 2000 },
  );
});
