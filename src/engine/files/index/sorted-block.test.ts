import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findEntry, prefixAt, sliceBlock, sortBlock, withoutGone } from './run.ts';

const LAYOUT = { keyBytes: 5, entryBytes: 6 };

// Few different bytes, so that prefixes, keys and whole entries often meet.
const entry = fc.array(fc.constantFrom(0, 1, 255), { minLength: 6, maxLength: 6 });
const entries = fc.array(entry, { maxLength: 60 });

function toBlock(list: readonly number[][]): Buffer {
  return Buffer.from(list.flat());
}

function toSet(block: Buffer): Set<string> {
  const texts = new Set<string>();
  for (let at = 0; at < block.length; at += 6) texts.add(block.toString('hex', at, at + 6));
  return texts;
}

describe('sorted blocks', () => {
  it('hold each entry once, in order of the prefix', () => {
    fc.assert(
      fc.property(entries, (list) => {
        const sorted = sortBlock(toBlock(list), 6);
        expect(toSet(sorted)).toEqual(toSet(toBlock(list)));
        expect(sorted.length / 6).toBe(toSet(sorted).size);
        for (let at = 6; at < sorted.length; at += 6) {
          expect(prefixAt(sorted, at)).toBeGreaterThanOrEqual(prefixAt(sorted, at - 6));
        }
      }),
    );
  });

  it('find an entry by its key exactly when one is there', () => {
    fc.assert(
      fc.property(entries, entry, (list, wanted) => {
        const key = Buffer.from(wanted.slice(0, 5));
        const found = findEntry(sortBlock(toBlock(list), 6), LAYOUT, key);
        const isThere = list.some((one) => key.equals(Buffer.from(one.slice(0, 5))));
        expect(found?.subarray(0, 5).equals(key) ?? false).toBe(isThere);
      }),
    );
  });

  it('leave out the entries that are gone, and no others', () => {
    fc.assert(
      fc.property(entries, (list) => {
        const sorted = sortBlock(toBlock(list), 6);
        const kept = withoutGone(sorted, 6, (block, at) => block[at + 5] === 1);
        expect(toSet(kept)).toEqual(toSet(toBlock(list.filter((one) => one[5] !== 1))));
      }),
    );
  });

  it('are cut at any prefix without losing an entry', () => {
    fc.assert(
      fc.property(entries, fc.nat(0xffffffff), (list, cut) => {
        const sorted = sortBlock(toBlock(list), 6);
        const low = sliceBlock(sorted, 6, 0, cut);
        const high = sliceBlock(sorted, 6, cut, 2 ** 32);
        expect(Buffer.concat([low, high])).toEqual(sorted);
        for (let at = 0; at < low.length; at += 6) expect(prefixAt(low, at)).toBeLessThan(cut);
      }),
    );
  });
});
