import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { CHUNK_AVG, CHUNK_MAX, CHUNK_MIN, cutPoint } from './chunker.ts';

/** Where the chunks of `noise(2^20, 1)` end. */
const CUTS = [
  52768, 85586, 129400, 183449, 218596, 252914, 270209, 298187, 337571, 382569, 421770, 466205,
  511749, 537963, 568800, 593789, 633790, 642129, 682165, 720959, 753934, 796364, 839197, 882318,
  937827, 973364, 981829, 1038111, 1048576,
];

/** Deterministic bytes: the low bytes of xorshift32. */
function noise(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let at = 0; at < length; at += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes[at] = state;
  }
  return bytes;
}

function cutAll(bytes: Uint8Array): number[] {
  const cuts: number[] = [];
  for (let at = 0; at < bytes.length; cuts.push(at)) at = cutPoint(bytes, at, bytes.length);
  return cuts;
}

function chunksOf(bytes: Uint8Array): string[] {
  let start = 0;
  return cutAll(bytes).map((end) => {
    const chunk = Buffer.from(bytes.subarray(start, end)).toString('latin1');
    start = end;
    return chunk;
  });
}

describe('chunker', () => {
  it('cuts where version 1 cuts', () => {
    expect(cutAll(noise(2 ** 20, 1))).toEqual(CUTS);
  });

  it('covers everything in chunks between the limits', () => {
    fc.assert(
      fc.property(fc.nat({ max: 400_000 }), fc.integer({ min: 1 }), (length, seed) => {
        const cuts = cutAll(noise(length, seed));
        expect(cuts.at(-1) ?? 0).toBe(length);
        const sizes = cuts.map((end, index) => end - (cuts[index - 1] ?? 0));
        for (const size of sizes.slice(0, -1)) expect(size).toBeGreaterThan(CHUNK_MIN);
        for (const size of sizes) expect(size).toBeLessThanOrEqual(CHUNK_MAX);
      }),
      { numRuns: 20 },
    );
  });

  it('cuts alike wherever the bytes lie, given a full look ahead', () => {
    const bytes = noise(CHUNK_MAX * 2, 7);
    const padded = new Uint8Array(bytes.length + 1000);
    padded.set(bytes, 1000);
    expect(cutPoint(padded, 1000, padded.length)).toBe(cutPoint(bytes, 0, bytes.length) + 1000);
    expect(cutPoint(bytes, 0, CHUNK_MAX)).toBe(cutPoint(bytes, 0, bytes.length));
  });

  it('stays near the average on noise and at the maximum on one repeated byte', () => {
    const length = 4 * 2 ** 20;
    const average = length / cutAll(noise(length, 3)).length;
    expect(average).toBeGreaterThan(CHUNK_AVG * 0.8);
    expect(average).toBeLessThan(CHUNK_AVG * 1.4);
    expect(cutAll(new Uint8Array(CHUNK_MAX * 3))).toEqual([1, 2, 3].map((n) => n * CHUNK_MAX));
  });

  it('shares all but a few chunks after an insertion', () => {
    const before = noise(2 ** 21, 5);
    const middle = before.length / 2;
    const after = Buffer.concat([
      before.subarray(0, middle),
      Buffer.from('new'),
      before.subarray(middle),
    ]);
    const known = new Set(chunksOf(before));
    const fresh = chunksOf(after).filter((chunk) => !known.has(chunk));
    expect(known.size).toBeGreaterThan(40);
    expect(fresh.length).toBeLessThanOrEqual(3);
  });
});
