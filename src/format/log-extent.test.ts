import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { safeNumber, u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { crc32, seal } from './bytes.ts';
import { decodeLogExtent, encodeLogExtent } from './log-extent.ts';
import type { LogExtent } from './log-extent.ts';

const EXTENT_HEX = '1000000000000000020000000000000045c698be00000000000000007425e7e2';

const LINES = Buffer.from('{"n":1}\n{"n":2}\n');
const EXTENT: LogExtent = { endOffset: LINES.length, endLine: 2, contentCrc: crc32(LINES) };

describe('log extent', () => {
  recordSuite<LogExtent>({
    golden: [{ hex: EXTENT_HEX, value: EXTENT }],
    values: fc.record({ endOffset: safeNumber, endLine: safeNumber, contentCrc: u32 }),
    encode: encodeLogExtent,
    decode: decodeLogExtent,
  });

  it('takes no extent sealed over a reserved byte', () => {
    for (const offset of [20, 27]) {
      const extent = Buffer.from(EXTENT_HEX, 'hex');
      extent[offset] = 1;
      seal(extent);
      expect(decodeLogExtent(extent)).toBeUndefined();
    }
  });
});
