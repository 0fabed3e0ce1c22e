import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Hash } from '../../../base/brand.ts';
import { PlaceSum } from './check-pack.ts';

type Place = Parameters<PlaceSum['add']>[0];

const places: fc.Arbitrary<Place> = fc.record({
  hash: fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((bytes) => Buffer.from(bytes).toString('hex') as Hash),
  offset: fc.nat(2 ** 31 - 1),
  rawLength: fc.nat(2 ** 31 - 1),
  storedLength: fc.nat(2 ** 31 - 1),
  codec: fc.nat(3),
});

function sumOf(list: readonly Place[]): PlaceSum {
  const sum = new PlaceSum();
  for (const place of list) sum.add(place);
  return sum;
}

describe('sums of places', () => {
  it('are the same in any order', () => {
    fc.assert(
      fc.property(fc.array(places), (list) => {
        expect(sumOf(list).isSame(sumOf(list.toReversed()))).toBe(true);
      }),
    );
  });

  it('differ when a place is missing, or any part of one is another', () => {
    const change = fc.constantFrom('offset', 'rawLength', 'storedLength', 'codec');
    fc.assert(
      fc.property(fc.array(places), places, change, (list, place, part) => {
        const whole = sumOf([...list, place]);
        expect(whole.isSame(sumOf(list))).toBe(false);
        expect(whole.isSame(sumOf([...list, { ...place, [part]: place[part] + 1 }]))).toBe(false);
      }),
    );
  });
});
