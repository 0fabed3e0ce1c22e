import { expect, it } from 'vitest';
import { measure } from '../scale/measure.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

const SIZE = 48 * 1024 ** 2;

it('a blob goes in and out in less memory than it has bytes', { timeout: 60_000 }, async () => {
  const url = await freshDatabase();
  const { same, stored, peakRssBytes } = await measure('large-blob.mjs', url, String(SIZE));
  expect({ same, stored }).toEqual({ same: 1, stored: SIZE });
  // Node and what it has loaded take most of that.
  expect(peakRssBytes).toBeLessThan(190e6);
});
