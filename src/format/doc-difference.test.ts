import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyDocDifference, decodeDocDifference, encodeDocDifference } from './doc-record.ts';

const PLACE = { offset: 32, length: 60 };

describe('a difference between two contents', () => {
  it('gives the later one back from the earlier one', () => {
    const part = fc.string({ maxLength: 40, unit: 'grapheme' });
    fc.assert(
      fc.property(part, part, part, part, (head, before, after, tail) => {
        const common = 'x'.repeat(300);
        const [old, next] = [`${head}${before}${common}${tail}`, `${head}${after}${common}${tail}`];
        const text = encodeDocDifference(old, next, PLACE);
        const difference = decodeDocDifference(text!);
        expect(difference).toMatchObject(PLACE);
        expect(applyDocDifference(old, difference!)).toBe(next);
      }),
    );
  });

  it('is none when it saves less than half', () => {
    expect(encodeDocDifference('abc', 'xyz', PLACE)).toBeUndefined();
    expect(encodeDocDifference('', 'y'.repeat(1000), PLACE)).toBeUndefined();
  });

  it('is none for other texts and for a content that is too short', () => {
    for (const text of ['', '{}', '[1,2,3,4]', '[1,2,3,4,5]', '[-1,2,3,4,""]', '[1,2,3,4,"",0]']) {
      expect(decodeDocDifference(text)).toBeUndefined();
    }
    const difference = decodeDocDifference('[1,2,3,4,"x"]')!;
    expect(applyDocDifference('abcdef', difference)).toBeUndefined();
    expect(applyDocDifference('abcdefg', difference)).toBe('abcxdefg');
  });
});
