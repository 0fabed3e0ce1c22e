import { describe } from 'vitest';
import fc from 'fast-check';
import { hash, safeNumber, u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { toHash } from '../base/brand.ts';
import { decodeErasedRecord, encodeErasedRecord, type ErasedRecord } from './blob-record.ts';

const HEX =
  'ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f0700000000000000' +
  '001000000000000039000000000000000068e5cf8b0100000000000044dfa1e0';

const ERASED: ErasedRecord = {
  hash: toHash('ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f'),
  pack: 7,
  offset: 4096,
  length: 57,
  erasedAt: 1_700_000_000_000,
};

describe('erased record', () => {
  recordSuite<ErasedRecord>({
    golden: [{ hex: HEX, value: ERASED }],
    values: fc.record({
      hash,
      pack: u32,
      offset: safeNumber,
      length: safeNumber,
      erasedAt: safeNumber,
    }),
    encode: encodeErasedRecord,
    decode: decodeErasedRecord,
  });
});
