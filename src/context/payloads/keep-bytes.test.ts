import { describe, expect, it } from 'vitest';
import { keepBytes } from './keep-bytes.ts';

describe('keepBytes', () => {
  it('keeps what was there, whatever the caller writes later and whatever is kept beside it', () => {
    const sizes = [0, 1, 10_000, 16_384, 16_385, 60_000, 10_000, 10_000, 10_000, 10_000, 3];
    const given = sizes.map((size, index) => new Uint8Array(size).fill(index + 1));
    const kept = given.map((bytes) => keepBytes(bytes));
    for (const bytes of given) bytes.fill(255);

    expect(kept.map((bytes) => bytes.length)).toEqual(sizes);
    kept.forEach((bytes, index) => {
      expect(bytes.every((byte) => byte === index + 1)).toBe(true);
    });
  });

  it('shares one allocation among small ones, and gives a large one its own', () => {
    const [first, second] = [keepBytes(new Uint8Array(100)), keepBytes(new Uint8Array(100))];
    const large = keepBytes(new Uint8Array(20_000));
    expect(second.buffer).toBe(first.buffer);
    expect(large.buffer.byteLength).toBe(20_000);
  });
});
