import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { recordSuite } from '../../test/golden/record-suite.ts';
import {
  type CollectedMap,
  decodeCollectedMap,
  encodeCollectedMap,
  isCollected,
} from './turn-record.ts';

const MAP: CollectedMap = { next: 11, bits: Uint8Array.of(0b0000_1000, 0b0000_0010) };

const maps = fc
  .uint8Array({ maxLength: 40 })
  .chain((bits) =>
    fc
      .integer({ min: Math.max(0, bits.length * 8 - 7), max: bits.length * 8 })
      .map((next) => ({ next, bits })),
  );

describe('collected map', () => {
  recordSuite<CollectedMap>({
    golden: [{ hex: '51434f4c010000000b00000000000000080258d9197e', value: MAP }],
    values: maps,
    encode: encodeCollectedMap,
    decode: decodeCollectedMap,
  });

  it('tells which turns are in it', () => {
    const turns = Array.from({ length: 20 }, (_, turn) => turn);
    expect(turns.filter((turn) => isCollected(MAP, turn))).toEqual([3, 9]);
  });
});
