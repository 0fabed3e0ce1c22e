import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Hash, toHash } from '../../../base/brand.ts';
import { KnownBlobs } from './check-packs.ts';

/** Few different digits, so that many hashes share their first ones. */
const hashes = fc
  .tuple(fc.constantFrom('0', '7', 'f'), fc.constantFrom('00', '01', 'ff'), fc.nat({ max: 20 }))
  .map(([first, middle, last]): Hash =>
    toHash(`${first.repeat(6)}${middle}${String(last).padStart(8, '0')}`.padEnd(64, 'a')),
  );

const sizeOf = (hash: Hash): number => Number.parseInt(hash.slice(4, 16), 16) % 1000;

describe('known blobs', () => {
  it('are those that were added, in whatever order and number', () => {
    fc.assert(
      fc.property(fc.array(hashes), fc.array(hashes), fc.boolean(), (added, others, sorted) => {
        const known = new KnownBlobs(2);
        for (const hash of sorted ? added.toSorted() : added) known.add(hash, sizeOf(hash));
        known.seal();
        for (const hash of [...added, ...others]) {
          expect(known.sizeOf(hash)).toBe(added.includes(hash) ? sizeOf(hash) : undefined);
        }
      }),
    );
  });

  it('are none when none was added', () => {
    const known = new KnownBlobs(0);
    known.seal();
    expect(known.sizeOf(toHash('0'.repeat(64)))).toBeUndefined();
    expect(known.sizeOf(toHash('f'.repeat(64)))).toBeUndefined();
  });
});
