import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { data, hash, u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { toHash } from '../base/brand.ts';
import {
  BLOB_HEADER_BYTES,
  BlobCodec,
  decodeBlobHeader,
  decodeBlobRecord,
  encodeBlobRecord,
} from './blob-record.ts';
import type { BlobRecord } from './blob-record.ts';
import { seal } from './bytes.ts';

const HELLO_HEX =
  '424c5342010000000500000005000000ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86' +
  'e908c5624a67200f68656c6c6f3a1e8ce2';

const HELLO: BlobRecord = {
  codec: BlobCodec.raw,
  rawLength: 5,
  hash: toHash('ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f'),
  stored: Buffer.from('hello'),
};

describe('blob record', () => {
  recordSuite<BlobRecord>({
    golden: [{ hex: HELLO_HEX, value: HELLO }],
    values: fc.record({
      codec: fc.constantFrom(...Object.values(BlobCodec)),
      rawLength: u32,
      hash,
      stored: data,
    }),
    encode: encodeBlobRecord,
    decode: decodeBlobRecord,
  });

  it('tells the length of a record from its header alone', () => {
    const header = Buffer.from(HELLO_HEX, 'hex').subarray(0, BLOB_HEADER_BYTES);
    expect(decodeBlobHeader(header)).toEqual({
      codec: BlobCodec.raw,
      rawLength: 5,
      storedLength: 5,
      hash: HELLO.hash,
    });
    expect(decodeBlobHeader(header.subarray(1))).toBeUndefined();
  });

  it('takes no other magic, version or codec', () => {
    for (const offset of [0, 4, 6, 7]) {
      const record = Buffer.from(HELLO_HEX, 'hex');
      record[offset] = 9;
      seal(record);
      expect(decodeBlobHeader(record)).toBeUndefined();
      expect(decodeBlobRecord(record)).toBeUndefined();
    }
  });
});
