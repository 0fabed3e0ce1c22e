import { expect, it } from 'vitest';
import { toSize, toTime } from './quantity.ts';

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [99_949, '99.9 kB'],
  [99_950, '100 kB'],
  [999_500, '1.0 MB'],
  [1.5e9, '1.5 GB'],
  [2e18, '2000 PB'],
])('writes %d bytes as %s', (bytes, text) => {
  expect(toSize(bytes)).toBe(text);
});

it('writes times to the second and survives impossible ones', () => {
  expect(toTime(1_700_000_000_999)).toBe('2023-11-14T22:13:20Z');
  expect(toTime(9e15)).toBe('9000000000000000');
});
