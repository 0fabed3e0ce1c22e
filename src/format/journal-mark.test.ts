import { describe, expect, it } from 'vitest';
import { safeNumber } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { seal } from './bytes.ts';
import { decodeMark, encodeMark } from './journal-frame.ts';

const MARK_HEX = '514d524b000000000900000000000000c221113f';

describe('mark', () => {
  recordSuite<number>({
    golden: [{ hex: MARK_HEX, value: 9 }],
    values: safeNumber,
    encode: encodeMark,
    decode: decodeMark,
  });

  it('takes no other magic, and none sealed over a reserved byte', () => {
    for (const offset of [0, 7]) {
      const mark = Buffer.from(MARK_HEX, 'hex');
      mark[offset] = 1;
      seal(mark);
      expect(decodeMark(mark)).toBeUndefined();
    }
  });
});
