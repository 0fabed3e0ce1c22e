import { expect, it } from 'vitest';
import { hexOf } from './hash.ts';

it('writes two lower-case digits a byte, also for a part of an array', () => {
  const page = Uint8Array.from([1, 0, 0xab, 2]);
  expect(hexOf(page.subarray(1, 3))).toBe('00ab');
  expect(hexOf(new Uint8Array())).toBe('');
});
