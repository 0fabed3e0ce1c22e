import { describe, expect, it } from 'vitest';
import { cutPieces } from './cut-pieces.ts';

function words(count: number, word = (n: number): string => `w${n}`): string {
  return Array.from({ length: count }, (_, n) => word(n)).join(' ');
}

describe('cutPieces', () => {
  it('leaves a text whole that fits', () => {
    expect(cutPieces([words(4096)]).map(({ parts }) => parts.length)).toEqual([4096]);
    expect(cutPieces(['', ' - '])).toEqual([]);
  });

  it('lets pieces overlap, and misses no part', () => {
    const pieces = cutPieces([words(10_000)]);
    expect(pieces.map(({ parts }) => [parts[0], parts.length])).toEqual([
      ['w0', 4096],
      ['w4032', 4096],
      ['w8064', 1936],
    ]);
  });

  it('keeps a whole in the pieces that have its parts', () => {
    const text = `${words(5000)} getUserName ${words(5000, (n) => `v${n}`)}`;
    const found = cutPieces([text]).map(({ parts, wholes }) => [parts.includes('user'), wholes]);
    expect(found).toEqual([
      [false, []],
      [true, ['getusername']],
      [false, []],
    ]);
  });

  it('has no token at more places than PostgreSQL keeps', () => {
    for (const { parts } of cutPieces(['a '.repeat(3000) + words(3000)])) {
      expect(parts.filter((part) => part === 'a').length).toBeLessThanOrEqual(255);
    }
  });

  it('has no piece whose tokens take more than a row of PostgreSQL holds', () => {
    const long = words(6000, (n) => `${'ж'.repeat(120)}${n}`);
    for (const { parts, wholes } of cutPieces([long])) {
      const bytes = [...parts, ...wholes].reduce((sum, token) => sum + Buffer.byteLength(token), 0);
      expect(bytes).toBeLessThan(900_000);
    }
  });
});
