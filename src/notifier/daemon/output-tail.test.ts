import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OutputTail } from './output-tail.ts';

it('keeps the last bytes and counts the others, in whatever pieces they come', () => {
  const pieces = fc.array(fc.string({ unit: 'grapheme-ascii', maxLength: 30 }), { maxLength: 60 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 50 }), fc.nat(60), (texts, limit, lookAt) => {
      const tail = new OutputTail(limit);
      let longest = 0;
      texts.forEach((text, index) => {
        tail.push(Buffer.from(text));
        // Looking changes nothing.
        if (index === lookAt) longest = Math.max(longest, tail.text.length - limit);
      });
      expect(longest).toBeLessThanOrEqual(0);
      const all = texts.join('');
      expect(tail.text).toBe(all.slice(-limit));
      expect(tail.omittedBytes).toBe(Math.max(0, all.length - limit));
    }),
  );
});
