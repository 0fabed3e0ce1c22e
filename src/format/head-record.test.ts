import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { contextId, safeNumber, turnId, u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { NO_TURN, toContextId, toTurnId } from '../base/brand.ts';
import { seal } from './bytes.ts';
import { decodeHeadRecord, encodeHeadRecord } from './head-record.ts';
import type { HeadRecord } from './head-record.ts';

const STREAMING_HEX =
  '02000000000000000300000000000000010000000000000004000000000000000068e5cf8b010000' +
  'dc6de5cf8b01000001000000000000000b000000e6c5d20c';

const REMOVED_HEX =
  '02000000000000000000000000000000000000000000000000000000000000000068e5cf8b010000' +
  'dc6de5cf8b010000000000000100000000000000f46af124';

const STREAMING: HeadRecord = {
  id: toContextId(2),
  head: toTurnId(3),
  headDepth: 1,
  base: toTurnId(1),
  openTurn: toTurnId(4),
  openBytes: 11,
  createdAt: 1_700_000_000_000,
  updatedAt: 1_700_000_001_500,
  removed: false,
};

const REMOVED: HeadRecord = {
  ...STREAMING,
  head: NO_TURN,
  headDepth: 0,
  base: NO_TURN,
  openTurn: NO_TURN,
  openBytes: 0,
  removed: true,
};

describe('head record', () => {
  recordSuite<HeadRecord>({
    golden: [
      { hex: STREAMING_HEX, value: STREAMING },
      { hex: REMOVED_HEX, value: REMOVED },
    ],
    values: fc.record({
      id: contextId,
      head: turnId,
      headDepth: u32,
      base: turnId,
      openTurn: turnId,
      openBytes: u32,
      createdAt: safeNumber,
      updatedAt: safeNumber,
      removed: fc.boolean(),
    }),
    encode: encodeHeadRecord,
    decode: decodeHeadRecord,
  });

  it('takes no slot of zeros and no flag it does not know', () => {
    expect(decodeHeadRecord(new Uint8Array(64))).toBeUndefined();
    const record = Buffer.from(STREAMING_HEX, 'hex');
    record[52] = 2;
    seal(record);
    expect(decodeHeadRecord(record)).toBeUndefined();
  });
});
