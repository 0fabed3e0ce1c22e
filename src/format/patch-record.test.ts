import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { hash, safeNumber, turnId, u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { toHash, toTurnId } from '../base/brand.ts';
import { seal } from './bytes.ts';
import { Encoding } from './turn-record.ts';
import { decodePatchRecord, encodePatchRecord } from './patch-record.ts';
import type { PatchRecord } from './patch-record.ts';

const TOMBSTONE_HEX =
  '03000000000000000100000000000000ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86' +
  'e908c5624a67200f010000000300000005000000000000000068e5cf8b0100000000000000000000' +
  '000000000000000000000000dfaacac3';

const TOMBSTONE: PatchRecord = {
  turn: toTurnId(3),
  seq: 1,
  payload: toHash('ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f'),
  tombstone: true,
  fsRoot: false,
  encoding: Encoding.text,
  size: 5,
  createdAt: 1_700_000_000_000,
};

const FS_ROOT_HEX =
  '03000000000000000200000000000000ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86' +
  'e908c5624a67200f020000000000000000000000000000000068e5cf8b0100000000000000000000' +
  '000000000000000000000000a23f2ad4';

const FS_ROOT: PatchRecord = {
  ...TOMBSTONE,
  seq: 2,
  tombstone: false,
  fsRoot: true,
  encoding: 0,
  size: 0,
};

describe('patch record', () => {
  recordSuite<PatchRecord>({
    golden: [
      { hex: TOMBSTONE_HEX, value: TOMBSTONE },
      { hex: FS_ROOT_HEX, value: FS_ROOT },
    ],
    values: fc
      .record({
        turn: turnId,
        seq: safeNumber,
        payload: hash,
        tombstone: fc.boolean(),
        fsRoot: fc.boolean(),
        encoding: u32,
        size: u32,
        createdAt: safeNumber,
      })
      .map((record) => ({ ...record, fsRoot: record.fsRoot && !record.tombstone })),
    encode: encodePatchRecord,
    decode: decodePatchRecord,
  });

  it('takes no record that is a tombstone and a file-system root at once', () => {
    const record = Buffer.from(TOMBSTONE_HEX, 'hex');
    record[48] = 3;
    seal(record);
    expect(decodePatchRecord(record)).toBeUndefined();
  });

  it('takes no record that is sealed over a reserved byte', () => {
    for (const offset of [49, 60, 72, 91]) {
      const record = Buffer.from(TOMBSTONE_HEX, 'hex');
      record[offset] = 1;
      seal(record);
      expect(decodePatchRecord(record)).toBeUndefined();
    }
  });
});
