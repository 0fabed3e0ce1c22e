import { expect, it } from 'vitest';
import { crc32, crc32Between } from './bytes.ts';

it('is CRC-32/IEEE', () => {
  expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926);
  expect(crc32(new Uint8Array())).toBe(0);
});

it('goes on from a seed', () => {
  expect(crc32(Buffer.from('6789'), crc32(Buffer.from('12345')))).toBe(0xcbf43926);
});

it('is the same of a part, short or long', () => {
  const bytes = Buffer.from(Array.from({ length: 400 }, (_, at) => (at * 7919) % 256));
  for (const length of [0, 1, 60, 124, 128, 129, 300]) {
    const end = 3 + length;
    expect(crc32Between(bytes, 3, end)).toBe(crc32(bytes.subarray(3, end)));
  }
});
