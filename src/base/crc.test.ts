import { expect, it } from 'vitest';
import { crc32 } from './crc.ts';

it('is CRC-32/IEEE', () => {
  expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926);
  expect(crc32(new Uint8Array())).toBe(0);
});

it('goes on from a seed', () => {
  expect(crc32(Buffer.from('6789'), crc32(Buffer.from('12345')))).toBe(0xcbf43926);
});
