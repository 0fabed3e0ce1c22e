import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countLineBreaks } from './output-window.ts';
import { SanitizeStream, scanBytes, unfinishedBytes } from './sanitize-stream.ts';

describe('scanBytes', () => {
  it('says of no bytes that they are clean, unless sanitising leaves them alone', () => {
    const odd = fc.constantFrom(0x0a, 0x09, 0x1b, 0x7f, 0xc2, 0x85, 0xa0, 0x41, 0x0d);
    const bytes = fc.array(fc.oneof(odd, fc.integer({ min: 0, max: 255 })), { maxLength: 80 });
    fc.assert(
      fc.property(bytes, fc.integer({ min: 0, max: 3 }), (given, shift) => {
        const all = Uint8Array.from([...Array.from({ length: shift }, () => 0), ...given]);
        const own = all.subarray(shift);
        const sanitizer = new SanitizeStream();
        const text = Buffer.from(own).toString('utf8');
        const same = Buffer.from(sanitizer.push(text) + sanitizer.end());
        const isClean = same.equals(own);
        expect(scanBytes(own)).toEqual({ isClean, lineBreaks: isClean ? countLineBreaks(own) : 0 });
      }),
      { numRuns: 400 },
    );
  });

  it('finds the beginning of a character at the end', () => {
    for (const char of ['a', 'é', '€', '😀']) {
      const bytes = Buffer.from(`x${char}`);
      expect(unfinishedBytes(bytes)).toBe(0);
      for (let cut = 1; cut < bytes.length - 1; cut++) {
        expect(unfinishedBytes(bytes.subarray(0, bytes.length - cut))).toBe(bytes.length - cut - 1);
      }
    }
  });
});
