import { describe, expect, it } from 'vitest';
import { copyInto } from './bytes.ts';

describe('copyInto', () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, at) => at + 1);

  it.each([
    ['other to shared', bytes, Buffer.from(new SharedArrayBuffer(128))],
    ['shared to other', toShared(bytes), Buffer.alloc(128)],
    ['other to other', bytes, Buffer.alloc(128)],
  ])('copies from %s memory, wherever both begin', (_name, from, into) => {
    for (const [start, at] of [
      [0, 0],
      [3, 3],
      [3, 8],
      [5, 1],
    ] as const) {
      into.fill(0);
      copyInto(into, at, from.subarray(start));
      expect([...into.subarray(at, at + 100 - start)]).toEqual([...bytes.subarray(start)]);
      expect(into.subarray(at + 100 - start).every((byte) => byte === 0)).toBe(true);
      expect(into.subarray(0, at).every((byte) => byte === 0)).toBe(true);
    }
  });

  it('copies nothing', () => {
    const into = Buffer.alloc(4, 7);
    copyInto(into, 4, new Uint8Array());
    expect([...into]).toEqual([7, 7, 7, 7]);
  });

  it('refuses what does not fit', () => {
    expect(() => copyInto(Buffer.alloc(4), 2, bytes)).toThrow(RangeError);
  });
});

function toShared(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}
