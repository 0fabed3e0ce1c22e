import { describe, expect, it } from 'vitest';
import { hashRaw } from '../../../base/hash.ts';
import { FILTER_BYTES, Probe, addToFilter } from './run.ts';

function key(n: number): Buffer {
  return Buffer.from(hashRaw(Buffer.from(`key ${n}`)));
}

describe('chunk filter', () => {
  const filters = new Uint8Array(3 * FILTER_BYTES);
  for (let n = 0; n < 76; n++) addToFilter(filters, FILTER_BYTES, key(n), 0);

  it('knows every key that was added', () => {
    for (let n = 0; n < 76; n++)
      expect(new Probe(key(n)).mayBeIn(filters, FILTER_BYTES)).toBe(true);
  });

  it('takes less than 1 of 100 other keys for one of its own', () => {
    let wrong = 0;
    for (let n = 1000; n < 11_000; n++)
      if (new Probe(key(n)).mayBeIn(filters, FILTER_BYTES)) wrong++;
    expect(wrong).toBeLessThan(100);
  });

  it('leaves its neighbours alone', () => {
    expect(filters.subarray(0, FILTER_BYTES).every((byte) => byte === 0)).toBe(true);
    expect(filters.subarray(2 * FILTER_BYTES).every((byte) => byte === 0)).toBe(true);
  });
});
