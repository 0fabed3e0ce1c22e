import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { text } from '../../test/golden/arbitraries.ts';
import { isQuipuError } from './errors.ts';
import { decodeUtf8, encodeUtf8, shown } from './text.ts';

const BAD = ['ff', 'c3', 'c0af', 'eda080', 'f4908080', '61e282'];

describe('UTF-8', () => {
  it('reads back what it wrote, byte order mark included', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(decodeUtf8(encodeUtf8(given))).toBe(given);
        expect(decodeUtf8(encodeUtf8(`\ufeff${given}`))).toBe(`\ufeff${given}`);
      }),
    );
  });

  it('answers INVALID to bytes that are not UTF-8, and works on', () => {
    for (const hex of BAD) {
      let thrown: unknown;
      try {
        decodeUtf8(Buffer.from(hex, 'hex'));
      } catch (error) {
        thrown = error;
      }
      expect(isQuipuError(thrown, 'INVALID'), hex).toBe(true);
      expect(decodeUtf8(Buffer.from('é'))).toBe('é');
    }
  });
});

describe('a value in a message', () => {
  it('is shown whatever it is, in bounded length', () => {
    const round: unknown[] = [];
    round.push(round);
    const values = ['a"b', 17n, 1.5, Number.NaN, true, undefined, null, round, {}, Symbol('s')];
    expect(values.map(shown)).toEqual([
      '"a\\"b"',
      '17',
      '1.5',
      'NaN',
      'true',
      'undefined',
      'null',
      'an array',
      'object',
      'symbol',
    ]);
    expect(shown('x'.repeat(1_000_000))).toHaveLength(202);
  });
});
