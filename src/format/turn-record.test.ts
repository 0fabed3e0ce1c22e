import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytes, contextId, hash, safeNumber, turnId, u32 } from '../../test/golden/arbitraries.ts';
import { recordSuite } from '../../test/golden/record-suite.ts';
import { NO_TURN, toContextId, toHash, toTurnId } from '../base/brand.ts';
import { seal } from './bytes.ts';
import { bytesToKeyHash, idempotencyHash } from './idempotency.ts';
import { Encoding, TurnFlag, decodeTurnRecord, encodeTurnRecord } from './turn-record.ts';
import type { TurnRecord } from './turn-record.ts';

const SEALED_HEX =
  '030000000000000002000000000000000200000003000000d460daeb8c2c0f0bea8f163db3868292' +
  '5e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f00000100050000000068e5cf8b010000' +
  '0200000000000000020000000000000003f795e96bf0528f21d389818eb3c5eb0100000000000000' +
  '00000000ae03ea37';

const OPEN_HEX =
  '040000000000000000000000000000000000000003000000d460daeb8c2c0f0b0000000000000000' +
  '00000000000000000000000000000000000000000000000001000000000000000068e5cf8b010000' +
  '02000000000000000000000000000000000000000000000000000000000000000000000000000000' +
  '00000000c30af7c9';

const SEALED: TurnRecord = {
  id: toTurnId(3),
  parent: toTurnId(2),
  depth: 2,
  encoding: Encoding.text,
  typeTag: 'd460daeb8c2c0f0b',
  payload: toHash('ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f'),
  flags: TurnFlag.PARENT_GIVEN,
  size: 5,
  createdAt: 1_700_000_000_000,
  context: toContextId(2),
  jump: toTurnId(2),
  sideJump: toTurnId(1),
  idempotency: idempotencyHash(toContextId(2), 'retry-1'),
};

const OPEN: TurnRecord = {
  ...SEALED,
  id: toTurnId(4),
  parent: NO_TURN,
  depth: 0,
  payload: undefined,
  flags: TurnFlag.OPEN,
  size: 0,
  jump: NO_TURN,
  sideJump: NO_TURN,
  idempotency: undefined,
};

const nonZero16 = bytes(16, 16).filter((key) => key.some((byte) => byte !== 0));

describe('turn record', () => {
  recordSuite<TurnRecord>({
    golden: [
      { hex: SEALED_HEX, value: SEALED },
      { hex: OPEN_HEX, value: OPEN },
    ],
    values: fc.record({
      id: turnId,
      parent: turnId,
      depth: u32,
      encoding: u32,
      typeTag: hash.map((text) => text.slice(0, 16)),
      payload: fc.option(hash, { nil: undefined }),
      flags: u32,
      size: u32,
      createdAt: safeNumber,
      context: contextId,
      jump: turnId,
      sideJump: turnId,
      idempotency: fc.option(nonZero16.map(bytesToKeyHash), { nil: undefined }),
    }),
    encode: encodeTurnRecord,
    decode: decodeTurnRecord,
  });

  it('takes no record that is sealed over a reserved byte', () => {
    const record = Buffer.from(SEALED_HEX, 'hex');
    record[122] = 1;
    seal(record);
    expect(decodeTurnRecord(record)).toBeUndefined();
  });

  it('takes no id that was never handed out', () => {
    for (const offset of [0, 8, 72, 80, 88, 112]) {
      const record = Buffer.from(SEALED_HEX, 'hex');
      record.writeBigUInt64LE(2n ** 53n, offset);
      seal(record);
      expect(decodeTurnRecord(record)).toBeUndefined();
    }
  });

  it('keeps the key when the page it was read from is used again', () => {
    const page = Buffer.from(SEALED_HEX, 'hex');
    const record = decodeTurnRecord(page);
    page.fill(0);
    expect(record?.idempotency).toEqual(SEALED.idempotency);
  });
});
