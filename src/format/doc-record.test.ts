import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { safeNumber, text } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { seal } from './bytes.ts';
import {
  DOC_HEADER_BYTES,
  decodeDocRecord,
  docRecordLength,
  encodeDocRecord,
} from './doc-record.ts';
import type { DocRecord } from './doc-record.ts';

const PUBLISHED_HEX =
  '5144524302000c000a00000004000000000000000068e5cf8b010000746872656164732e6a736f6e' +
  '7b2261223a22c3a9227d94ac4e0d';

const REMOVED_HEX =
  '5144524301000c000000000005000000000000000068e5cf8b010000746872656164732e6a736f6e' + '8f67e062';

const DIFFERENCE_HEX =
  '5144524306000c000f00000006000000000000000068e5cf8b010000746872656164732e6a736f6e' +
  '5b33322c35362c352c312c2221225dce033d8e';

const PUBLISHED: DocRecord = {
  name: 'threads.json',
  version: 4,
  createdAt: 1_700_000_000_000,
  content: '{"a":"é"}',
  published: true,
};

const REMOVED: DocRecord = {
  name: 'threads.json',
  version: 5,
  createdAt: 1_700_000_000_000,
  content: undefined,
  published: false,
};

const DIFFERENCE: DocRecord = {
  name: 'threads.json',
  version: 6,
  createdAt: 1_700_000_000_000,
  content: '[32,56,5,1,"!"]',
  published: true,
  difference: true,
};

describe('doc record', () => {
  recordSuite<DocRecord>({
    golden: [
      { hex: PUBLISHED_HEX, value: PUBLISHED },
      { hex: REMOVED_HEX, value: REMOVED },
      { hex: DIFFERENCE_HEX, value: DIFFERENCE },
    ],
    values: fc.record({
      name: text,
      version: safeNumber,
      createdAt: safeNumber,
      content: fc.option(text, { nil: undefined }),
      published: fc.boolean(),
    }),
    encode: encodeDocRecord,
    decode: decodeDocRecord,
  });

  it('tells the length of a record from its header alone', () => {
    const record = Buffer.from(PUBLISHED_HEX, 'hex');
    expect(docRecordLength(record.subarray(0, DOC_HEADER_BYTES))).toBe(record.length);
    expect(docRecordLength(record.subarray(0, DOC_HEADER_BYTES - 1))).toBeUndefined();
    expect(docRecordLength(record.subarray(1))).toBeUndefined();
  });

  it('takes no bad UTF-8, no unknown flag and no content of a removed document', () => {
    const changes = [
      [28, 0xff],
      [47, 0xff],
      [4, 4],
      [4, 3],
    ] as const;
    for (const [offset, byte] of changes) {
      const record = Buffer.from(PUBLISHED_HEX, 'hex');
      record[offset] = byte;
      seal(record);
      expect(decodeDocRecord(record)).toBeUndefined();
    }
  });
});
