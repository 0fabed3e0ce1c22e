import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { safeNumber, u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import type { SumRange } from './file-sums.ts';
import { decodeSumRange, encodeSumRange, encodeSumsHead, isSumsHead } from './file-sums.ts';

describe('checksum of a range', () => {
  recordSuite<SumRange>({
    golden: [{ hex: '00100000000000002639f4cbd813a607', value: { end: 4096, sum: 0xcbf4_3926 } }],
    values: fc.record({ end: safeNumber, sum: u32 }),
    encode: encodeSumRange,
    decode: decodeSumRange,
  });

  it('begins with a head', () => {
    const head = encodeSumsHead();
    expect(Buffer.from(head).toString('hex')).toBe('515549505553554d0100000027a0788e');
    expect(isSumsHead(head)).toBe(true);
    expect(isSumsHead(head.subarray(1))).toBe(false);
    expect(isSumsHead(new Uint8Array(16))).toBe(false);
  });
});
