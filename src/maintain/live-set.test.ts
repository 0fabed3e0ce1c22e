import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toHash, type Hash } from '../base/brand.ts';
import { LiveSet } from './live-set.ts';

function hashOf(prefix: bigint): Hash {
  return toHash(prefix.toString(16).padStart(16, '0').padEnd(64, '7'));
}

describe('LiveSet', () => {
  it('holds what was added and nothing else', () => {
    // Small numbers crowd into one shard, and 0 is what an empty slot looks like.
    const prefixes = fc.oneof(fc.bigInt(0n, 300n), fc.bigInt(0n, (1n << 64n) - 1n));
    fc.assert(
      fc.property(fc.array(prefixes, { maxLength: 400 }), prefixes, (added, other) => {
        const set = new LiveSet();
        const expected = new Set<bigint>();
        for (const prefix of added) {
          expect(set.add(hashOf(prefix))).toBe(!expected.has(prefix));
          expected.add(prefix);
        }
        expect(set.size).toBe(expected.size);
        for (const prefix of expected) expect(set.has(hashOf(prefix))).toBe(true);
        expect(set.has(hashOf(other))).toBe(expected.has(other));
      }),
    );
  });

  it('takes at most 16 bytes an entry', () => {
    const set = new LiveSet();
    const count = 300_000;
    let state = 1;
    const next = (): number => {
      state = Math.imul(state, 1_664_525) + 1_013_904_223;
      return state >>> 0;
    };
    for (let n = 0; n < count; n += 1) set.addPrefix({ high: next(), low: next() });
    expect(set.size).toBeGreaterThan(count * 0.99);
    expect(set.memoryBytes / set.size).toBeLessThan(16);
  });
});
