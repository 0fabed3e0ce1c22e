import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutPieces } from '../index/cut-pieces.ts';
import { cutRows } from './cut-rows.ts';

const PIECES = [
  'a',
  'b',
  'Z',
  'Q',
  '7',
  '_',
  '__',
  '+',
  '++',
  '#',
  ' ',
  '.',
  '\n',
  '-',
  'HTTPServer',
  'c++',
  'é',
  '日本',
];
const ascii = PIECES.filter((piece) => /^[\0-\x7f]+$/.test(piece));
const texts = (pieces: readonly string[]): fc.Arbitrary<string[]> =>
  fc.array(
    fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((chosen) => chosen.join('')),
    { maxLength: 4 },
  );

function expected(given: readonly string[]): ReturnType<typeof cutRows> {
  return cutPieces(given).map(({ parts, wholes, sketch }) => {
    return { part: parts.join(' '), whole: wholes.join(' '), words: parts.length, sketch };
  });
}

it.each([
  ['ASCII', texts(ascii)],
  ['any language', texts(PIECES)],
])('cuts texts in %s as pieces are cut', (_, given) => {
  fc.assert(
    fc.property(given, (some) => {
      expect(cutRows(some)).toEqual(expected(some));
    }),
  );
});

it.each([
  ['a token too long', `one ${'x'.repeat(129)} two`],
  ['the longest token', `one ${'x'.repeat(128)} two`],
  ['a whole too long', `${'x'.repeat(70)}_${'y'.repeat(60)}`],
  ['a word as often as a row takes', 'word '.repeat(255)],
  ['a word more often', 'word '.repeat(300)],
  ['more words than a row takes', Array.from({ length: 5000 }, (_, at) => `w${at}`).join(' ')],
  ['a long text', 'some words of a long text '.repeat(3000)],
])('cuts %s as pieces are cut', (_, text) => {
  expect(cutRows([text])).toEqual(expected([text]));
});
