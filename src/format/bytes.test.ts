import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { safeNumber } from '../../test/golden/arbitraries.ts';
import { isZero, readU64, toBuffer, writeU64 } from './bytes.ts';

describe('u64 as number', () => {
  it('is little-endian and exact', () => {
    fc.assert(
      fc.property(safeNumber, (value) => {
        const buffer = Buffer.alloc(10);
        writeU64(buffer, value, 1);
        expect(buffer.readBigUInt64LE(1)).toBe(BigInt(value));
        expect(readU64(buffer, 1)).toBe(value);
      }),
    );
  });

  it('is undefined past the safe integers', () => {
    const buffer = Buffer.alloc(8);
    for (const value of [2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
      buffer.writeBigUInt64LE(value);
      expect(readU64(buffer, 0)).toBeUndefined();
    }
  });
});

it('shares memory with the array it views', () => {
  const page = new Uint8Array([1, 2, 3]);
  const view = toBuffer(page.subarray(1));
  page[1] = 9;
  expect([...view]).toEqual([9, 3]);
});

it('looks for zeros only in the given range', () => {
  const buffer = Buffer.from([1, 0, 0, 1]);
  expect(isZero(buffer, 1, 3)).toBe(true);
  expect(isZero(buffer, 0, 3)).toBe(false);
  expect(isZero(buffer, 1, 4)).toBe(false);
});
