import { expect, it } from 'vitest';
import { mapShelves } from './map-shelves.ts';

it('opens an empty shelf every time, and puts a fresh one in the place of the old', () => {
  const shelves = mapShelves();
  const old = shelves.open();
  const fresh = shelves.create();
  expect([old.positions(), fresh.positions()]).toEqual([{}, {}]);
  expect(shelves.open()).not.toBe(old);
  expect(shelves.install(fresh, old)).toBe(fresh);
});
