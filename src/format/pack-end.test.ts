import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { safeNumber, u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { seal } from './bytes.ts';
import { decodePackEnd, encodePackEnd, type PackEnd } from './blob-record.ts';

const END_HEX = '51454e4401000000030000000000000013010000000000003ddcbe1a';

describe('pack end', () => {
  recordSuite<PackEnd>({
    golden: [{ hex: END_HEX, value: { count: 3, length: 275 } }],
    values: fc.record({ count: u32, length: safeNumber }),
    encode: encodePackEnd,
    decode: decodePackEnd,
  });

  it('takes no other magic or version, and none sealed over a reserved byte', () => {
    for (const offset of [0, 4, 6, 12]) {
      const end = Buffer.from(END_HEX, 'hex');
      end[offset] = 9;
      seal(end);
      expect(decodePackEnd(end)).toBeUndefined();
    }
  });
});
